package html

import (
	"fmt"
	"slices"
	"strings"
)

// Sizes of nodes, in pixels.
const (
	titleHeight = 20
	barHeight   = 5
	barGap      = 2
	labelWidth  = 6 * letter // of a bar
	valueWidth  = 6 * letter
	podSize     = 4
	podGap      = 1
	// maximumLines bounds the pods of a node with names; maximumPodRows bounds those with squares, as nodes of Kubernetes have up to 250
	// pods, or few more.
	maximumLines   = 10
	maximumPodRows = 20
)

// box is a node. All coordinates are from its own.
type box struct {
	X, Y, Width, Height int
	Name, Text          string
	State               State
	Bars                []bar
	Labels              []line
	Pods                []line // with names
	There, Added, Gone  string // paths, a line for pods of a row, which dashes make squares
}

type bar struct {
	X, Y, Width, Full int
	Class             string
}

// heights are the parts of a node that all nodes of a picture share.
type heights struct{ bars, box int }

// heights is the room for the resources and pods of any node.
func (l layout) heights(chosen [][]Node) heights {
	bars, most := 0, 1
	for _, nodes := range chosen {
		for i := range nodes {
			n := &nodes[i]
			bars = max(bars, len(n.Shares))
			if l.named {
				most = max(most, min(len(n.lines()), maximumLines))
			} else {
				most = max(most, n.There.Count+n.Added.Count+n.Gone.Count)
			}
		}
	}
	if l.named {
		out := heights{bars: bars * lineHeight}
		out.box = titleHeight + out.bars + 5 + most*lineHeight + 4
		return out
	}
	rows := min((most+l.squares()-1)/l.squares(), maximumPodRows)
	out := heights{bars: bars * (barHeight + barGap)}
	out.box = titleHeight + out.bars + 5 + rows*(podSize+podGap) + inset - podGap
	return out
}

// squares is the number of pods in a row.
func (l layout) squares() int { return (l.width - 2*inset + podGap) / (podSize + podGap) }

// box draws a node.
func (l layout) box(n *Node, size heights) box {
	out := box{
		Width: l.width, Height: size.box, Name: cut(n.Name, l.letters()), Text: n.Text, State: n.State,
	}
	whole, x := l.width-2*inset, inset
	step, height := barHeight+barGap, 0
	if l.named {
		whole, x, step, height = whole-labelWidth-valueWidth, inset+labelWidth, lineHeight, 5
	}
	for i, s := range n.Shares {
		y := titleHeight + i*step
		out.Bars = append(out.Bars, bar{x, y + height, min(s.Percent, 100) * whole / 100, whole, s.class()})
		if l.named {
			out.Labels = append(out.Labels,
				line{inset, y + 11, "label", cut(s.Resource, labelWidth/letter)},
				line{l.width - inset, y + 11, "value", s.value()})
		}
	}
	top := titleHeight + size.bars + 5
	if l.named {
		out.Pods = l.names(n, top)
		return out
	}
	l.draw(&out, n, top)
	return out
}

// value is the share in letters.
func (s Share) value() string {
	if text := s.Text; text != "" && len(text) <= valueWidth/letter {
		return text
	}
	return fmt.Sprintf("%d%%", s.Percent)
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

// lines are the pods of a node: new pods first, leaving pods last.
func (n *Node) lines() []line {
	var out []line
	for _, of := range []struct {
		class, mark string
		pods        Pods
	}{{"added", "+ ", n.Added}, {"there", "", n.There}, {"gone", "− ", n.Gone}} {
		for _, kind := range of.pods.Kinds {
			out = append(out, line{Class: of.class, Text: of.mark + kind})
		}
	}
	return out
}

// names writes the pods of a node.
func (l layout) names(n *Node, top int) []line {
	out := n.lines()
	if len(out) > maximumLines {
		left := len(out) - maximumLines + 1
		out = append(slices.Clone(out[:maximumLines-1]), line{Class: "there", Text: "and " + counted(left, "more kind")})
	}
	for i := range out {
		out[i].X, out[i].Y = inset+12, top+i*lineHeight+10
		out[i].Text = shortened(out[i].Text, l.letters()-2)
	}
	return out
}

// draw writes a square for each pod of a node.
func (l layout) draw(out *box, n *Node, top int) {
	at, perRow := 0, l.squares()
	squares := func(pods int) string {
		var b strings.Builder
		for pods > 0 && at < maximumPodRows*perRow {
			row, column := at/perRow, at%perRow
			run := min(pods, perRow-column)
			fmt.Fprintf(&b, "M%d %dh%d", inset+column*(podSize+podGap), top+row*(podSize+podGap)+podSize/2, run*(podSize+podGap)-podGap)
			at, pods = at+run, pods-run
		}
		return b.String()
	}
	out.Added, out.There, out.Gone = squares(n.Added.Count), squares(n.There.Count), squares(n.Gone.Count)
}
