package report

import (
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	corev1 "k8s.io/api/core/v1"

	"github.com/stowage-scheduler/stowage/clients/fill"
)

// box is a node of a picture, or nodes that are drawn as one.
type box struct {
	nodes              []string
	added, there, gone tally
	shares             *shares // nil if nothing is known
	// about: the nodes are about as full, and the pods are those of all together. Nodes of other boxes have the same pods each.
	about bool
}

// Pods are pods of a node.
type Pods struct {
	Count int
	Kinds []string // what they are counted as, each with its number if there are several
}

// Nodes returns the pods of each node: those that come, those that stay, and those that go.
func (p *Picture) Nodes(yield func(node int, added, there, gone Pods)) {
	of := func(t *tally) Pods { return Pods{t.pods, t.byKind("")} }
	for i, b := range p.boxes() {
		yield(i, of(&b.added), of(&b.there), of(&b.gone))
	}
}

// changes reports whether pods come or go.
func (b *box) changes() bool { return b.added.pods+b.gone.pods > 0 }

// newPods is the number of pods that come to all of its nodes.
func (b *box) newPods() int {
	if b.about {
		return b.added.pods
	}
	return b.added.pods * len(b.nodes)
}

// shares is the part of a node's CPU and memory that pods request, in percent: the least and the most of several nodes.
type shares struct{ cpu, memory span }

type span struct {
	known       bool
	least, most int
}

func (s span) with(other span) span {
	if !s.known || !other.known {
		return span{}
	}
	return span{true, min(s.least, other.least), max(s.most, other.most)}
}

func (s span) String() string {
	switch {
	case !s.known:
		return "?"
	case s.least == s.most:
		return fmt.Sprintf("%d%%", s.most)
	}
	return fmt.Sprintf("%d–%d%%", s.least, s.most)
}

func sharesOf(n *fill.Node) *shares {
	of := func(name corev1.ResourceName) span {
		percent, ok := n.Percent(name)
		return span{ok, percent, percent}
	}
	return &shares{of(corev1.ResourceCPU), of(corev1.ResourceMemory)}
}

// requested reports whether pods of any node request CPU or memory.
func requested(all *fill.Nodes) bool {
	for i := range all.All {
		n := &all.All[i]
		cpu, memory := n.Requested[corev1.ResourceCPU], n.Requested[corev1.ResourceMemory]
		if !cpu.IsZero() || !memory.IsZero() {
			return true
		}
	}
	return false
}

// most is the larger share, -1 if none is known.
func (s *shares) most() int {
	out := -1
	if s != nil && s.cpu.known {
		out = s.cpu.most
	}
	if s != nil && s.memory.known {
		out = max(out, s.memory.most)
	}
	return out
}

// maximumBar is the width of the bar of a share.
const maximumBar = 10

// line writes the shares that are known in a line of at most a width: as bars if there is room, else as numbers, of the scarcer one
// alone if there is no room for both. It is empty if none is known.
func (s *shares) line(width int) string {
	known := []named{{"cpu", s.cpu}, {"mem", s.memory}}
	known = slices.DeleteFunc(known, func(n named) bool { return !n.known })
	if len(known) == 0 {
		return ""
	}
	write := func(of func(named) string) string {
		var out []string
		for _, n := range known {
			out = append(out, of(n))
		}
		return strings.Join(out, " ")
	}
	bars := func(bar int) string {
		return write(func(n named) string { return fmt.Sprintf("%s %s%4s", n.name, n.bar(bar), n.span) })
	}
	alone := !slices.ContainsFunc(known, func(n named) bool { return n.least != n.most })
	if bar := min(maximumBar, (width-utf8.RuneCountInString(bars(0)))/len(known)); bar >= 3 && alone {
		return bars(bar)
	}
	numbers := func(n named) string { return n.name + " " + n.String() }
	if both := write(numbers); utf8.RuneCountInString(both) <= width {
		return both
	}
	return numbers(slices.MaxFunc(known, func(a, b named) int { return a.most - b.most }))
}

// named is a share with the name of its resource.
type named struct {
	name string
	span
}

func (s span) bar(width int) string {
	filled := min(width, s.most*width/100)
	return strings.Repeat("█", filled) + strings.Repeat("░", width-filled)
}

// title names the nodes.
func (b *box) title(n names, width int) string {
	switch {
	case len(b.nodes) == 1:
		return n.cut(b.nodes[0], width)
	case b.about:
		return cut(fmt.Sprintf("%d nodes", len(b.nodes)), width)
	}
	more := fmt.Sprintf(" and %d alike", len(b.nodes)-1)
	return cut(n.cut(b.nodes[0], max(4, width-utf8.RuneCountInString(more)))+more, width)
}

// lines is what the box says, at most as many lines as are drawn.
func (b *box) lines(width int) []string {
	var out []string
	if b.shares.most() >= 0 {
		out = append(out, b.shares.line(width))
	}
	pods := append(append(b.added.byName("+ "), b.there.byName("  ")...), b.gone.byName("- ")...)
	switch {
	case b.about:
		pods = append(b.added.byKind("+ "), b.gone.byKind("- ")...)
		if len(pods) > maximumPods-1 {
			pods = append(pods[:maximumPods-2:maximumPods-2], fmt.Sprintf("… %d more", len(pods)-maximumPods+2))
		}
		return append(append(out, pods...), "  "+plural(uint64(b.there.pods), "pod"))
	case len(b.nodes) > 1 || len(pods) > maximumPods:
		pods = append(append(b.added.byKind("+ "), b.there.byKind("  ")...), b.gone.byKind("- ")...)
	}
	if len(pods) > maximumPods {
		pods = append(pods[:maximumPods-1:maximumPods-1], fmt.Sprintf("… %d more", len(pods)-maximumPods+1))
	}
	return append(out, pods...)
}

// Shares from which a node is nearly full, and full.
const (
	nearlyFull = 75
	full       = 95
)

// coloured colours a line by what it says. shown is the line with its padding.
func (b *box) coloured(line, shown string, ink Ink) string {
	switch {
	case strings.HasPrefix(line, "+ "):
		return ink.Good(shown)
	case strings.HasPrefix(line, "- "):
		return ink.Bad(shown)
	case b.shares == nil || !strings.HasPrefix(line, "cpu ") && !strings.HasPrefix(line, "mem "):
		return shown
	case b.shares.most() >= full:
		return ink.Bad(shown)
	case b.shares.most() >= nearlyFull:
		return ink.Warn(shown)
	}
	return shown
}
