package html

import (
	"cmp"
	"strings"
	"unicode/utf8"
)

// key is an entry of the legend: a swatch and what it means.
type key struct {
	X, Y  int
	Class string
	Text  string
}

const (
	swatch = 16 // the width of a swatch with the gap after it
	keyGap = 18
)

// legend explains what the picture has, below an ordinate. Entries follow each other as far as there is room.
func (d *drawing) legend(p *Picture, top int) {
	x, y := margin, top+margin
	for _, k := range p.keys() {
		width := swatch + utf8.RuneCountInString(k.Text)*letter
		if x > margin && x+width > d.Width-margin {
			x, y = margin, y+lineHeight
		}
		k.X, k.Y = x, y
		d.Legend = append(d.Legend, k)
		x += width + keyGap
	}
}

// keys are the entries of the legend, without their places.
func (p *Picture) keys() []key {
	seen := map[string]bool{}
	var resources []string
	for i := range p.Domains {
		for j := range p.Domains[i].Nodes {
			n := &p.Domains[i].Nodes[j]
			n.mark(seen)
			for _, s := range n.Shares {
				if !seen["resource "+s.Resource] {
					seen["resource "+s.Resource] = true
					resources = append(resources, s.Resource)
				}
			}
		}
	}
	good, bad := cmp.Or(p.Good, "yes"), cmp.Or(p.Bad, "no")
	var out []key
	for _, k := range []key{
		{Class: "added", Text: "new pod"}, {Class: "there", Text: "pod"}, {Class: "gone", Text: "pod that leaves"},
		{Class: "good", Text: "node " + good}, {Class: "bad", Text: "node " + bad},
	} {
		if seen[k.Class] {
			out = append(out, k)
		}
	}
	if len(resources) > 0 {
		out = append(out, key{Class: "free", Text: "requested " + strings.Join(resources, ", ")})
	}
	for _, k := range []key{{Class: "nearly", Text: "75% or more"}, {Class: "full", Text: "95% or more"}} {
		if seen[k.Class] {
			out = append(out, k)
		}
	}
	return out
}

// mark notes what the picture of a node has.
func (n *Node) mark(seen map[string]bool) {
	for _, of := range []struct {
		class string
		has   bool
	}{
		{"added", n.Added.Count > 0}, {"there", n.There.Count > 0}, {"gone", n.Gone.Count > 0},
		{"good", n.State == Good}, {"bad", n.State == Bad},
	} {
		if of.has {
			seen[of.class] = true
		}
	}
	for _, s := range n.Shares {
		seen[s.class()] = true
	}
}
