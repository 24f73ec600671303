package html

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"
)

// Sizes, in pixels. A letter is what text of a size takes at most on average: the fonts of systems take 0.5 to 0.65 em.
const (
	margin        = 10
	nodeGap       = 8
	inset         = 8
	lineHeight    = 15
	letter        = 7  // of 10 px, for nodes, pods and the legend
	countLetter   = 8  // of 11 px, below the name of a domain
	headingLetter = 10 // of 13 px, bold
	minimumWidth  = 440
)

// layout is how nodes are drawn: few with the names of their pods, many with a square for each pod.
type layout struct {
	named   bool
	width   int // of a node
	columns int // of nodes
}

var (
	withNames   = layout{named: true, width: 206, columns: 5}
	withSquares = layout{width: 112, columns: 9}
)

const (
	// maximumNamed is the number of nodes up to which pods have names.
	maximumNamed = 40
	// maximumDrawn is the number of nodes that are drawn. With 30 pods each a picture of them has some 1 MB.
	maximumDrawn = 1500
)

func (p *Picture) layout() layout {
	total := 0
	for i := range p.Domains {
		total += len(p.Domains[i].Nodes)
	}
	if total <= maximumNamed {
		return withNames
	}
	return withSquares
}

// NameLength is the number of letters of a node's name that there is room for.
func (p *Picture) NameLength() int { return p.layout().letters() }

// letters is the number of letters of a line in a node.
func (l layout) letters() int { return (l.width - 2*inset) / letter }

// drawing is a picture with coordinates.
type drawing struct {
	Title, Verdict string
	Width, Height  int
	Style          trusted // empty within a page
	Head           []line  // the verdict; empty within a page
	Domains        []panel
	Boxes          int // their number
	Pending        []line
	Legend         []key
}

// line is a line of text.
type line struct {
	X, Y  int
	Class string
	Text  string
}

// panel is a domain.
type panel struct {
	X, Y, Width, Height int
	Text                string // for the pointer
	Lines               []line
	Boxes               []box

	head []line // above the boxes
}

// alone draws the picture without a page around it.
func (p *Page) alone() *drawing {
	d := p.drawing()
	d.Style = style("picture.css")
	head := wrapped(p.Verdict, (d.Width-2*margin)/headingLetter)
	for i, text := range head {
		d.Head = append(d.Head, line{margin, 20 + i*18, "verdict", text})
	}
	down := 12 + len(head)*18
	d.Height += down
	for i := range d.Domains {
		d.Domains[i].Y += down
	}
	for i := range d.Pending {
		d.Pending[i].Y += down
	}
	for i := range d.Legend {
		d.Legend[i].Y += down
	}
	return d
}

func (p *Page) drawing() *drawing {
	d := &drawing{Title: p.Title, Verdict: p.Verdict, Width: minimumWidth}
	y := margin
	if p.Picture != nil {
		y = d.panels(p.Picture)
		for _, text := range wrapped(p.Picture.Pending, (d.Width-2*margin)/countLetter) {
			y += lineHeight + 2
			d.Pending = append(d.Pending, line{margin, y, "note bad", text})
		}
		d.legend(p.Picture, y+2)
	}
	for _, k := range d.Legend {
		y = k.Y + lineHeight
	}
	d.Height = y + margin
	return d
}

// panels draws the domains from the left to the right, in rows, and returns the ordinate below them.
func (d *drawing) panels(p *Picture) int {
	l := p.layout()
	chosen := foremost(p)
	size := l.heights(chosen)
	columns := l.columns
	if l.named {
		columns = max(1, l.columns/max(1, len(p.Domains)))
	}
	for i := range p.Domains {
		d.Domains = append(d.Domains, l.panel(p, &p.Domains[i], chosen[i], min(columns, max(1, len(chosen[i]))), size))
		d.Boxes += len(chosen[i])
	}
	head := 0
	for i := range d.Domains {
		head = max(head, len(d.Domains[i].head))
	}
	most := 2*margin + l.columns*(l.width+nodeGap) + nodeGap
	x, y, below := margin, margin, margin
	first := 0 // of the row
	for i := range d.Domains {
		panel := &d.Domains[i]
		if x > margin && x+panel.Width+margin > most {
			d.level(first, i, below-y)
			first, x, y = i, margin, below+margin
		}
		panel.X, panel.Y = x, y
		panel.place(head*lineHeight + 12)
		x += panel.Width + margin
		below = max(below, y+panel.Height)
		d.Width = max(d.Width, x)
	}
	d.level(first, len(d.Domains), below-y)
	return below
}

// level gives the panels of a row one height.
func (d *drawing) level(from, to, height int) {
	for i := from; i < to; i++ {
		d.Domains[i].Height = height
	}
}

// panel draws a domain at its own origin.
func (l layout) panel(p *Picture, domain *Domain, chosen []Node, columns int, size heights) panel {
	out := panel{Width: columns*(l.width+nodeGap) + nodeGap}
	name, counts := heading(p.TopologyKey, domain)
	if left := len(domain.Nodes) - len(chosen); left > 0 {
		counts += fmt.Sprintf("; %d nodes drawn", len(chosen))
	}
	add := func(class string, width int, texts ...string) {
		for _, text := range texts {
			out.head = append(out.head, line{Class: class, Text: cut(text, (out.Width-2*inset)/width)})
		}
	}
	if name != "" {
		add("heading", headingLetter, shortened(name, (out.Width-2*inset)/headingLetter))
	}
	out.Text = strings.TrimPrefix(name+": "+counts, ": ")
	add("count", countLetter, wrapped(counts, (out.Width-2*inset)/countLetter)...)
	if note := domain.Note; note != "" {
		out.Text += "\n" + note
		add(strings.TrimSpace("note "+string(domain.State)), countLetter, wrapped(note, (out.Width-2*inset)/countLetter)...)
	}
	for i := range chosen {
		b := l.box(&chosen[i], size)
		b.X, b.Y = nodeGap+i%columns*(l.width+nodeGap), i/columns*(b.Height+nodeGap)
		out.Boxes = append(out.Boxes, b)
	}
	rows := (len(chosen) + columns - 1) / columns
	out.Height = rows * (size.box + nodeGap)
	return out
}

// place puts the boxes of a panel below its head.
func (p *panel) place(head int) {
	for i := range p.head {
		l := p.head[i]
		l.X, l.Y = inset, 18+i*lineHeight
		p.Lines = append(p.Lines, l)
	}
	for i := range p.Boxes {
		p.Boxes[i].Y += head
	}
	p.Height += head
}

// heading names a domain and says how full it is.
func heading(topologyKey string, d *Domain) (name, counts string) {
	there, added, gone := 0, 0, 0
	for i := range d.Nodes {
		n := &d.Nodes[i]
		there, added, gone = there+n.There.Count, added+n.Added.Count, gone+n.Gone.Count
	}
	name = d.Name
	if name == "" && topologyKey != "" {
		name = "without " + topologyKey
	}
	counts = counted(len(d.Nodes), "node") + ", " + counted(there+added, "pod")
	if added > 0 {
		counts += fmt.Sprintf(", %d new", added)
	}
	if gone > 0 {
		counts += fmt.Sprintf(", %d gone", gone)
	}
	return name, counts
}

// foremost chooses the nodes that are drawn, of each domain in its order: all of a few; of many, nodes that change or have a
// verdict, then the first ones.
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
			slices.SortStableFunc(nodes, func(a, b Node) int { return cmp.Compare(a.rank(), b.rank()) })
			out[i] = nodes[:room]
		}
	}
	return out
}

func (n *Node) rank() int {
	if n.Added.Count+n.Gone.Count > 0 || n.State != None {
		return 0
	}
	return 1
}

// cut shortens a text to a number of letters.
func cut(text string, letters int) string {
	if utf8.RuneCountInString(text) <= letters {
		return text
	}
	return string([]rune(text)[:max(0, letters-1)]) + "…"
}

// shortened leaves out the middle of a name, as names often differ at their end.
func shortened(name string, letters int) string {
	runes := []rune(name)
	if len(runes) <= letters {
		return name
	}
	tail := letters / 3
	return string(runes[:letters-tail-1]) + "…" + string(runes[len(runes)-tail:])
}

// wrapped breaks a text into lines of a number of letters, between words.
func wrapped(text string, letters int) []string {
	var out []string
	for word := range strings.FieldsSeq(text) {
		if n := len(out); n > 0 && utf8.RuneCountInString(out[n-1])+1+utf8.RuneCountInString(word) <= letters {
			out[n-1] += " " + word
			continue
		}
		out = append(out, cut(word, letters))
	}
	return out
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
