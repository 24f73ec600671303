package report

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/stowage-scheduler/stowage/clients/compact"
	stowagev1 "github.com/stowage-scheduler/stowage/proto/stowage/v1"
)

const (
	minimumColumn = 22 // runes, with the box
	maximumColumn = 34
	// maximumNodes and maximumPods bound a column and a box; the rest is counted.
	maximumNodes = 6
	maximumPods  = 8
)

// Picture draws the cluster: a column for each domain of the topology key, a box for each node, and the pods in it. New
// pods come first, with a "+", evicted ones last, with a "-". Columns that do not fit into width are drawn below the others.
type Picture struct {
	Cluster     *stowagev1.Cluster
	TopologyKey string // "" for one column
	// New are the names of the pods that were placed, by node name.
	New map[string][]string
	// Gone are pods that were evicted. Those of the queue are not drawn.
	Gone  []*stowagev1.PodReference
	Width int
}

// Draw writes the picture.
func (p *Picture) Draw(w io.Writer) {
	columns := p.columns()
	if len(columns) == 0 {
		fmt.Fprintln(w, "(no nodes)")
		return
	}
	perRow := min(len(columns), max(1, (p.Width+1)/(minimumColumn+1)))
	width := min(maximumColumn, (p.Width+1)/perRow-1)
	if p.TopologyKey != "" {
		fmt.Fprintln(w, p.TopologyKey)
	}
	for row := range slices.Chunk(columns, perRow) {
		// Boxes in a row have one height.
		var heights []int
		for _, c := range row {
			for i, b := range c.boxes[:min(len(c.boxes), maximumNodes)] {
				if i == len(heights) {
					heights = append(heights, 1)
				}
				heights[i] = max(heights[i], min(len(b.pods), maximumPods))
			}
		}
		var texts [][]string
		lines := 0
		for _, c := range row {
			text := c.text(width, heights)
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
}

type column struct {
	heading string
	boxes   []box
}

type box struct {
	node    string
	pods    []string
	newPods int
}

func (p *Picture) columns() []column {
	byDomain := map[string][]box{}
	var without []box
	gone := map[uint32][]*stowagev1.PodReference{}
	for _, v := range p.Gone {
		gone[v.GetNodeIndex()] = append(gone[v.GetNodeIndex()], v)
	}
	for i, n := range p.Cluster.GetNodes() {
		b := box{n.GetName(), p.pods(n, gone[uint32(i)]), len(p.New[n.GetName()])}
		if domain, ok := compact.Labels(p.Cluster, n)[p.TopologyKey]; ok {
			byDomain[domain] = append(byDomain[domain], b)
		} else {
			without = append(without, b)
		}
	}
	var out []column
	for _, domain := range slices.Sorted(maps.Keys(byDomain)) {
		out = append(out, column{domain, byDomain[domain]})
	}
	if without != nil {
		heading := ""
		if p.TopologyKey != "" {
			heading = "(without the label)"
		}
		out = append(out, column{heading, without})
	}
	return out
}

// pods names the pods of a node, each name once with its count.
func (p *Picture) pods(n *stowagev1.Node, gone []*stowagev1.PodReference) []string {
	var out []string
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
	add := func(mark string, names []string) {
		for _, name := range withCounts(names) {
			out = append(out, mark+name)
		}
	}
	add("+ ", p.New[n.GetName()])
	var there, left []string
	for _, pod := range n.GetPods() {
		name := pod.GetName()
		if evicted[[2]string{p.namespace(pod), name}] {
			left = append(left, name)
			continue
		}
		if name == "" {
			name = "(unnamed)"
		}
		there = append(there, name)
	}
	add("  ", there)
	for _, c := range n.GetPodCounts() {
		if stays := c.GetCount() - fewer[c.GetTemplateIndex()]; stays > 0 {
			out = append(out, fmt.Sprintf("  %s ×%d", TemplateName(p.Cluster, c.GetTemplateIndex()), stays))
		}
	}
	add("- ", left)
	for _, c := range n.GetPodCounts() {
		if left := fewer[c.GetTemplateIndex()]; left > 0 {
			out = append(out, fmt.Sprintf("- %s ×%d", TemplateName(p.Cluster, c.GetTemplateIndex()), left))
		}
	}
	return out
}

func (p *Picture) namespace(pod *stowagev1.Pod) string {
	if t := pod.GetTemplate(); t != nil {
		return t.GetNamespace()
	}
	if all := p.Cluster.GetPodTemplates(); int(pod.GetTemplateIndex()) < len(all) {
		return all[pod.GetTemplateIndex()].GetNamespace()
	}
	return ""
}

// TemplateName is a name for pods that are known only by their template.
func TemplateName(c *stowagev1.Cluster, index uint32) string {
	if int(index) < len(c.GetPodTemplates()) {
		if name := c.GetPodTemplates()[index].GetController().GetName(); name != "" {
			return name
		}
	}
	return fmt.Sprintf("template %d", index)
}

func (c *column) text(width int, heights []int) []string {
	inner := width - 4
	var out []string
	if c.heading != "" {
		out = append(out, cut(c.heading, width))
	}
	for i, b := range c.boxes {
		if i == maximumNodes {
			rest := fmt.Sprintf("… %d more nodes", len(c.boxes)-i)
			newPods := 0
			for _, b := range c.boxes[i:] {
				newPods += b.newPods
			}
			if newPods > 0 {
				rest += fmt.Sprintf(", %d new", newPods)
			}
			out = append(out, cut(rest, width))
			break
		}
		title := cut(b.node, inner)
		out = append(out, "┌ "+title+" "+strings.Repeat("─", inner-utf8.RuneCountInString(title))+"┐")
		lines := b.pods
		if len(lines) > maximumPods {
			lines = append(slices.Clone(lines[:maximumPods-1]), fmt.Sprintf("… %d more", len(lines)-maximumPods+1))
		}
		for n := range heights[i] {
			line := ""
			if n < len(lines) {
				line = lines[n]
			}
			out = append(out, "│ "+pad(cut(line, inner), inner)+" │")
		}
		out = append(out, "└"+strings.Repeat("─", width-2)+"┘")
	}
	return out
}

func pad(s string, width int) string {
	return s + strings.Repeat(" ", max(0, width-utf8.RuneCountInString(s)))
}

func cut(s string, width int) string {
	if utf8.RuneCountInString(s) <= width {
		return s
	}
	return string([]rune(s)[:width-1]) + "…"
}
