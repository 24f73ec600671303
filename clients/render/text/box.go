package text

import (
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/stowage-scheduler/stowage/clients/answer/words"
)

// box is a node of a picture, or nodes that are drawn as one.
type box struct {
	nodes              []string
	added, there, gone Tally
	shares             shares // the known ones
	// about: the nodes are about as full, and the pods are the pods of all of them. The nodes of other boxes have the same pods each.
	about bool
}

// Pods are pods of a node.
type Pods struct {
	Count int
	Kinds []string // what they are counted as, each with its number if there are several
}

// Nodes returns the pods of each node: new pods, pods that stay, and pods that leave.
func (p *Picture) Nodes(yield func(node int, added, there, gone Pods)) {
	of := func(t *Tally) Pods { return Pods{t.pods, t.byKind("")} }
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
	for _, of := range b.shares.groups() {
		out = append(out, of.line(width))
	}
	pods := append(append(b.added.ByName("+ "), b.there.ByName("  ")...), b.gone.ByName("- ")...)
	switch {
	case b.about:
		pods = append(b.added.byKind("+ "), b.gone.byKind("- ")...)
		if len(pods) > maximumPods-1 {
			pods = append(pods[:maximumPods-2:maximumPods-2], fmt.Sprintf("… %d more", len(pods)-maximumPods+2))
		}
		return append(append(out, pods...), "  "+words.Plural(uint64(b.there.pods), "pod"))
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
	}
	for _, of := range b.shares.groups() {
		switch {
		case !strings.HasPrefix(line, of[0].name+" "):
		case of.most() >= full:
			return ink.Bad(shown)
		case of.most() >= nearlyFull:
			return ink.Warn(shown)
		}
	}
	return shown
}
