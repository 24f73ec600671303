package page

import (
	"cmp"
	"fmt"
	"html/template"
	"slices"
	"strings"
	"unicode/utf8"
)

// Sizes, in pixels.
const (
	drawingWidth = 1160
	margin       = 10
	headingSize  = 26
	nodeWidth    = 108
	nodeGap      = 6
	nodeTitle    = 16
	barHeight    = 5
	barGap       = 2
	podSize      = 4
	podGap       = 1
	inset        = 5
	letterWidth  = 6 // of a node's name
)

// NameLength is the number of letters of a node's name that there is room for.
const NameLength = (nodeWidth - 2*inset) / letterWidth

// maximumDrawn is the number of nodes that are drawn. With 30 pods each a picture of them has some 1 MB.
const maximumDrawn = 1500

// drawing is a picture with coordinates.
type drawing struct {
	Title, Verdict string
	Width, Height  int
	Style          template.CSS // empty within a page
	Domains        []panel
	Boxes          int    // their number
	Legend         int    // its ordinate
	Good, Bad      string // what these states mean; empty if no node has them
}

// panel is a domain.
type panel struct {
	X, Y, Width, Height int
	Heading             string
	TextY               int
	Boxes               []box
}

// box is a node. Its coordinates within the drawing are X and Y; all others are from there.
type box struct {
	X, Y, Width, Height int
	Name, Text          string
	State               State
	Bars                []bar
	There, Added, Gone  string // paths, a line for pods of a row, which dashes make squares
}

type bar struct {
	Y, Width, Full int
	Class          string
}

func (p *Page) drawing() *drawing {
	d := &drawing{Title: printable(p.Title), Verdict: printable(p.Verdict), Width: drawingWidth}
	y := margin
	if p.Picture != nil {
		chosen := foremost(p.Picture)
		height := heightOf(chosen)
		for i := range chosen {
			y = d.panel(p.Picture, &p.Picture.Domains[i], chosen[i], height, y)
		}
	}
	d.Legend = y + 8
	d.Height = y + 26
	return d
}

// panel draws a domain with the chosen nodes, and returns the ordinate below it.
func (d *drawing) panel(p *Picture, domain *Domain, chosen []Node, height, y int) int {
	out := panel{X: margin, Y: y, Width: drawingWidth - 2*margin, TextY: y + 17, Heading: heading(p.TopologyKey, domain)}
	if left := len(domain.Nodes) - len(chosen); left > 0 {
		out.Heading += fmt.Sprintf("; %d of them are drawn", len(chosen))
	}
	perRow := (out.Width - nodeGap) / (nodeWidth + nodeGap)
	for i := range chosen {
		n := &chosen[i]
		switch n.State {
		case Good:
			d.Good = cmp.Or(p.Good, "yes")
		case Bad:
			d.Bad = cmp.Or(p.Bad, "no")
		}
		x := margin + nodeGap + i%perRow*(nodeWidth+nodeGap)
		out.Boxes = append(out.Boxes, n.box(x, y+headingSize+i/perRow*(height+nodeGap), height))
	}
	d.Boxes += len(chosen)
	rows := (len(chosen) + perRow - 1) / perRow
	out.Height = headingSize + rows*(height+nodeGap)
	d.Domains = append(d.Domains, out)
	return y + out.Height + margin
}

// heading names a domain and says how full it is.
func heading(key string, d *Domain) string {
	there, added, gone := 0, 0, 0
	for i := range d.Nodes {
		n := &d.Nodes[i]
		there, added, gone = there+n.There, added+n.Added, gone+n.Gone
	}
	name := d.Name
	if name == "" && key != "" {
		name = "without " + key
	}
	text := counted(len(d.Nodes), "node") + ", " + counted(there+added, "pod")
	if name != "" {
		text = name + ": " + text
	}
	if added > 0 {
		text += fmt.Sprintf(", %d of them new", added)
	}
	if gone > 0 {
		text += fmt.Sprintf(", %d gone", gone)
	}
	return printable(text)
}

// foremost chooses the nodes that are drawn, of each domain in its order: all, or of many those that change or have a verdict, then
// the first.
func foremost(p *Picture) [][]Node {
	total := 0
	for _, d := range p.Domains {
		total += len(d.Nodes)
	}
	out := make([][]Node, len(p.Domains))
	for i, d := range p.Domains {
		out[i] = d.Nodes
		room := len(d.Nodes)
		if total > maximumDrawn {
			room = max(1, maximumDrawn*len(d.Nodes)/total)
		}
		if room < len(d.Nodes) {
			nodes := slices.Clone(d.Nodes)
			slices.SortStableFunc(nodes, func(a, b Node) int { return a.rank() - b.rank() })
			out[i] = nodes[:room]
		}
	}
	return out
}

func (n *Node) rank() int {
	if n.Added+n.Gone > 0 || n.State != None {
		return 0
	}
	return 1
}

func podsPerRow() int { return (nodeWidth - 2*inset + podGap) / (podSize + podGap) }

// heightOf is the height of a box that holds the pods of any node.
func heightOf(chosen [][]Node) int {
	most := 1
	for _, nodes := range chosen {
		for i := range nodes {
			n := &nodes[i]
			most = max(most, n.There+n.Added+n.Gone)
		}
	}
	rows := min((most+podsPerRow()-1)/podsPerRow(), maximumPodRows)
	return nodeTitle + 2*(barHeight+barGap) + inset + rows*(podSize+podGap) + inset - podGap
}

// maximumPodRows bounds a node: those of Kubernetes have up to 250 pods, or few more.
const maximumPodRows = 20

// box draws a node.
func (n *Node) box(x, y, height int) box {
	name := n.Name
	if letters := []rune(name); len(letters) > NameLength {
		name = string(letters[:NameLength-1]) + "…"
	}
	out := box{
		X: x, Y: y, Width: nodeWidth, Height: height, Name: printable(name),
		Text: printable(n.Text), State: n.State,
	}
	top := nodeTitle
	for _, s := range []Share{n.CPU, n.Memory} {
		if s.Known {
			const whole = nodeWidth - 2*inset
			out.Bars = append(out.Bars, bar{Y: top, Width: min(s.Percent, 100) * whole / 100, Full: whole, Class: s.class()})
		}
		top += barHeight + barGap
	}
	top += inset
	at := 0
	squares := func(pods int) string {
		var b strings.Builder
		for pods > 0 && at < maximumPodRows*podsPerRow() {
			row, column := at/podsPerRow(), at%podsPerRow()
			run := min(pods, podsPerRow()-column)
			fmt.Fprintf(&b, "M%d %dh%d", inset+column*(podSize+podGap), top+row*(podSize+podGap)+podSize/2, run*(podSize+podGap)-podGap)
			at, pods = at+run, pods-run
		}
		return b.String()
	}
	out.Added, out.There, out.Gone = squares(n.Added), squares(n.There), squares(n.Gone)
	return out
}

// class is how full the resource is.
func (s Share) class() string {
	switch {
	case s.Percent >= 95:
		return "full"
	case s.Percent >= 75:
		return "nearly"
	}
	return "free"
}

// printable replaces what XML does not allow.
func printable(text string) string {
	return strings.Map(func(r rune) rune {
		if r < ' ' && r != '\n' && r != '\t' || r == 0xfffe || r == 0xffff {
			return utf8.RuneError
		}
		return r
	}, strings.ToValidUTF8(text, string(utf8.RuneError)))
}

func counted(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}

func more(n int, what string) string {
	return counted(n, "more "+what) + " in the output of -o json."
}
