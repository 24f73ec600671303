package text

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/stowage-scheduler/stowage/clients/answer/words"
	"github.com/stowage-scheduler/stowage/clients/fill"
	"github.com/stowage-scheduler/stowage/clients/kube/compact"
	"github.com/stowage-scheduler/stowage/clients/quote"
	stowagev1 "github.com/stowage-scheduler/stowage/proto/stowage/v1"
)

const (
	minimumColumn = 22 // runes, with the box
	maximumColumn = 34
	// maximumColumns, maximumNodes and maximumPods bound the domains, a column and a box; the rest is counted.
	maximumColumns = 24
	maximumNodes   = 6
	maximumPods    = 8
)

// Picture draws the cluster: a column for each domain of the topology key, a box for each node, and the pods in it. New
// pods come first, with a "+", evicted ones last, with a "-". If a column has too many nodes, equal nodes share a box,
// or else nodes that are about as full. Columns that do not fit into width are drawn below the others. Many domains of one node each are
// drawn as one.
type Picture struct {
	Cluster     *stowagev1.Cluster
	TopologyKey string // "" for one column
	// New are the names of the pods that were placed, by node name.
	New map[string][]string
	// Gone are pods that were evicted. Pods of the queue are not drawn.
	Gone []*stowagev1.PodReference
	// Fill is how full the nodes are; nil leaves that out.
	Fill  *fill.Nodes
	Width int
	Ink   Ink
}

// Draw writes the picture.
func (p *Picture) Draw(w io.Writer) {
	columns := p.columns()
	if len(columns) == 0 {
		fmt.Fprintln(w, "(no nodes)")
		return
	}
	if len(columns) > maximumColumns && len(columns) == len(p.Cluster.GetNodes()) { // such as hostnames
		all := *p
		all.TopologyKey = ""
		all.Draw(w)
		return
	}
	drawn, rest := foremost(columns)
	perRow := min(len(drawn), max(1, (p.Width+1)/(minimumColumn+1)))
	width := min(maximumColumn, (p.Width+1)/perRow-1)
	if p.TopologyKey != "" {
		fmt.Fprintln(w, quote.Line(p.TopologyKey))
	}
	for row := range slices.Chunk(drawn, perRow) {
		p.row(w, row, width)
	}
	if rest != "" {
		WriteWrapped(w, "", rest, p.Width)
	}
}

// row draws columns beside each other. Boxes in a row have one height.
func (p *Picture) row(w io.Writer, row []column, width int) {
	var heights []int
	for _, c := range row {
		for i := range c.boxes {
			if i == len(heights) {
				heights = append(heights, 1)
			}
			heights[i] = max(heights[i], len(c.boxes[i].lines(width-4)))
		}
	}
	var texts [][]string
	lines := 0
	for _, c := range row {
		text := c.text(width, heights, p.Ink)
		texts = append(texts, text)
		lines = max(lines, len(text))
	}
	for line := range lines {
		var b strings.Builder
		for _, text := range texts {
			cell := ""
			if line < len(text) {
				cell = text[line]
			}
			b.WriteString(pad(cell, width) + " ")
		}
		fmt.Fprintln(w, strings.TrimRight(b.String(), " "))
	}
}

// column is a domain.
type column struct {
	heading string
	boxes   []box
	names   names // of its nodes
}

func (p *Picture) columns() []column {
	byDomain := map[string][]box{}
	var without []box
	full := p.Fill != nil && requested(p.Fill)
	for i, b := range p.boxes() {
		if full {
			b.shares = sharesOf(&p.Fill.All[i])
		}
		if domain, ok := compact.Labels(p.Cluster, p.Cluster.Nodes[i])[p.TopologyKey]; ok {
			byDomain[domain] = append(byDomain[domain], b)
		} else {
			without = append(without, b)
		}
	}
	var out []column
	for _, domain := range slices.Sorted(maps.Keys(byDomain)) {
		out = append(out, columnOf(domain, byDomain[domain]))
	}
	if without != nil {
		heading := ""
		if p.TopologyKey != "" {
			heading = "(without the label)"
		}
		out = append(out, columnOf(heading, without))
	}
	return out
}

func columnOf(heading string, boxes []box) column {
	var all []string
	for _, b := range boxes {
		all = append(all, b.nodes...)
	}
	return column{heading, merged(boxes), namesOf(all)}
}

// foremost returns the columns that are drawn, first those in which something changes, and what to say of the others.
func foremost(all []column) (drawn []column, rest string) {
	if len(all) <= maximumColumns {
		return all, ""
	}
	changed := func(c column) bool {
		return slices.ContainsFunc(c.boxes, func(b box) bool { return b.changes() })
	}
	slices.SortStableFunc(all, func(a, b column) int { return rank(changed(a)) - rank(changed(b)) })
	nodes, added := 0, 0
	for _, c := range all[maximumColumns:] {
		for i := range c.boxes {
			nodes, added = nodes+len(c.boxes[i].nodes), added+c.boxes[i].newPods()
		}
	}
	rest = fmt.Sprintf("… %s with %s", words.Plural(uint64(len(all)-maximumColumns), "more domain"), words.Plural(uint64(nodes), "node"))
	if added > 0 {
		rest += fmt.Sprintf(", %d new", added)
	}
	return all[:maximumColumns], rest
}

func rank(first bool) int {
	if first {
		return 0
	}
	return 1
}

// boxes counts the pods of each node.
func (p *Picture) boxes() []box {
	gone := map[uint32][]*stowagev1.PodReference{}
	for _, v := range p.Gone {
		gone[v.GetNodeIndex()] = append(gone[v.GetNodeIndex()], v)
	}
	var out []box
	for i, n := range p.Cluster.GetNodes() {
		out = append(out, p.box(n, gone[uint32(i)]))
	}
	return out
}

// box counts the pods of a node.
func (p *Picture) box(n *stowagev1.Node, gone []*stowagev1.PodReference) box {
	out := box{nodes: []string{n.GetName()}}
	evicted, fewer := map[[2]string]bool{}, map[uint32]uint32{}
	for _, v := range gone {
		switch _, queued := v.GetOrigin().(*stowagev1.PodReference_QueueIndex); {
		case queued:
		case v.GetName() == "":
			fewer[v.GetTemplateIndex()] += v.GetCount()
		default:
			evicted[[2]string{v.GetNamespace(), v.GetName()}] = true
		}
	}
	for _, name := range p.New[n.GetName()] {
		out.added.Add(name, name, 1)
	}
	for _, pod := range n.GetPods() {
		t := compact.Template(p.Cluster, pod)
		name, kind := pod.GetName(), t.GetController().GetName()
		if kind == "" {
			kind = name
		}
		switch {
		case evicted[[2]string{t.GetNamespace(), name}]:
			out.gone.Add(kind, name, 1)
		case name == "":
			out.there.Add("(unnamed)", "(unnamed)", 1)
		default:
			out.there.Add(kind, name, 1)
		}
	}
	for _, c := range n.GetPodCounts() {
		name := words.TemplateName(p.Cluster, c.GetTemplateIndex())
		left := min(fewer[c.GetTemplateIndex()], c.GetCount())
		fewer[c.GetTemplateIndex()] -= left
		if left > 0 {
			out.gone.Add(name, name, int(left))
		}
		if stays := c.GetCount() - left; stays > 0 {
			out.there.Add(name, name, int(stays))
		}
	}
	return out
}

func (c *column) text(width int, heights []int, ink Ink) []string {
	inner := width - 4
	var out []string
	if c.heading != "" {
		out = append(out, cut(c.heading, width))
	}
	for i := range c.boxes {
		b := &c.boxes[i]
		title := cut(b.title(c.names, inner), inner)
		out = append(out, "┌ "+title+" "+strings.Repeat("─", inner-utf8.RuneCountInString(title))+"┐")
		lines := b.lines(inner)
		for n := range heights[i] {
			line := ""
			if n < len(lines) {
				line = lines[n]
			}
			out = append(out, "│ "+b.coloured(line, pad(cut(line, inner), inner), ink)+" │")
		}
		out = append(out, "└"+strings.Repeat("─", width-2)+"┘")
	}
	return out
}

func pad(s string, width int) string {
	return s + strings.Repeat(" ", max(0, width-utf8.RuneCountInString(s)))
}

func cut(s string, width int) string {
	s = quote.Line(s)
	if utf8.RuneCountInString(s) <= width {
		return s
	}
	return string([]rune(s)[:width-1]) + "…"
}
