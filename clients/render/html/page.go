// Package html writes answers for browsers: a page of HTML that needs nothing beside it, and its picture alone as SVG.
//
// A page has no script, and takes nothing from the network. Equal pages are equal bytes.
package html

import (
	"embed"
	"io"
	"slices"
)

// Page is an answer.
type Page struct {
	Title string
	// Verdict is the answer in a sentence, Good whether it is a yes. Warn says that the yes comes with warnings.
	Verdict    string
	Good, Warn bool
	Notes      []string // paragraphs below the verdict
	// Sections are below the picture.
	Sections []Section
	Picture  *Picture
}

// Section is a text, a list or a table with a title, which may be empty. What it has is written in the order of its fields.
type Section struct {
	Title   string
	Text    []string // paragraphs
	List    []string
	Plain   string // text in columns
	Columns []string
	Rows    [][]string // each as long as Columns
	Folded  bool       // not shown until the reader asks for it
}

// Picture is nodes by domain.
type Picture struct {
	TopologyKey string // empty for none
	Domains     []Domain
	// Pending is what the answer says of pods without a node, which no node shows; empty for nothing.
	Pending string
	// Good and Bad are what these states of nodes mean, in a word or two.
	Good, Bad string
}

// Domain is the nodes with one value of the topology key; Name is empty for nodes without the label.
type Domain struct {
	Name  string
	Nodes []Node
	// Note is what the answer says of the domain as a whole, State whether that is good.
	Note  string
	State State
}

// Node is a node and its pods.
type Node struct {
	// Name is the node's name, of at most Picture.NameLength letters; more are cut off.
	Name string
	// Text is what a browser shows when the pointer is on the node.
	Text string
	// Shares are how full the node is, by resource.
	Shares []Share
	// There, Added and Gone are the pods that stay, come and go.
	There, Added, Gone Pods
	State              State
}

// Pods are pods of a node.
type Pods struct {
	Count int
	Kinds []string // what they are called, with the number of equal pods
}

// Share is the part of a resource that is requested.
type Share struct {
	Resource string // in few letters
	Percent  int
	Text     string // such as 6/8; empty for the percentage
}

// State is the verdict on a node.
type State string

// The verdicts. Most answers have none about most nodes.
const (
	None State = ""
	Good State = "good"
	Bad  State = "bad"
)

//go:embed style.css picture.css
var files embed.FS

// style is part of the program.
func style(name string) trusted {
	text, err := files.ReadFile(name)
	if err != nil {
		panic(err) // it is embedded
	}
	return trusted(text)
}

// tone is the class of the verdict.
func (p *Page) tone() string {
	switch {
	case !p.Good:
		return "no"
	case p.Warn:
		return "warn"
	}
	return "yes"
}

// HTML writes the page.
func (p *Page) HTML(w io.Writer) error {
	return written(w, func(m markup) { m.page(p) })
}

// SVG writes the picture.
func (p *Page) SVG(w io.Writer) error {
	return written(w, func(m markup) { m.picture(p.alone()) })
}

// maximumRows is the number of rows of a table. JSON has all.
const maximumRows = 2000

// bounded leaves out rows beyond maximumRows, and says so.
func bounded(all []Section) []Section {
	out := make([]Section, len(all))
	for i, s := range all {
		if n := len(s.Rows) - maximumRows; n > 0 {
			s.Rows = s.Rows[:maximumRows]
			s.Text = append(slices.Clip(s.Text), more(n, "row"))
		}
		if n := len(s.List) - maximumRows; n > 0 {
			s.List = append(s.List[:maximumRows:maximumRows], more(n, "line"))
		}
		out[i] = s
	}
	return out
}
