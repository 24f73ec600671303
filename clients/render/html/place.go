package html

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/stowage-scheduler/stowage/clients/answer/place"
	"github.com/stowage-scheduler/stowage/clients/answer/words"
	"github.com/stowage-scheduler/stowage/clients/render/text"
)

// placement composes the page where pods go.
type placement struct{ *place.Answer }

// Place is the page where pods go.
func Place(a *place.Answer) *Page {
	p := &placement{a}
	out := &Page{
		Title: "Where pods go", Verdict: p.Verdict, Good: p.Good(), Warn: len(p.Caveats) > 0,
		Picture: PictureOf(p.TopologyKey, p.Nodes, text.PlacePicture(a, text.Style{Width: text.Width}), nil), Notes: p.Remarks(),
	}
	out.Picture.Pending = p.pending()
	out.Sections = append(p.sections(), NodeTable(cmp.Or(p.TopologyKey, "Domain"), p.Nodes))
	return out
}

// sections are about the workloads and their pods.
func (p *placement) sections() []Section {
	plain := text.Style{Width: text.Width}
	pods := Section{Title: "Pods", Columns: []string{"Pods", "Kind", "Placed", "Nodes"}}
	for _, w := range p.Workloads {
		pods.Rows = append(pods.Rows, []string{
			w.Namespace + "/" + w.Name, w.Kind, fmt.Sprintf("%d/%d", w.Placed, w.Pods), words.Names(nodesOf(&w)),
		})
	}
	out := []Section{pods}
	if devices := p.Devices(); len(devices) > 0 {
		out = append(out, Section{Title: "Devices", Columns: []string{"Pod", "Node", "Claim", "Driver/pool/device"}, Rows: devices})
	}
	out = append(out, p.without()...)
	if lines := p.Evictions(); len(lines) > 0 {
		out = append(out, Section{Title: "Evictions", List: lines})
	}
	if groups := text.PlaceGroups(p.Answer, plain); groups != "" {
		out = append(out, Section{Title: "Pod groups", Plain: groups})
	}
	if len(p.Rollouts) > 0 {
		var rollouts strings.Builder
		text.Rollouts(&rollouts, p.Rollouts, plain.Width)
		out = append(out, Section{Title: "Rollouts", Plain: strings.TrimSpace(rollouts.String())})
	}
	return out
}

// without are sections about the pods without a node, one for workloads with the same reason.
func (p *placement) without() []Section {
	var out []Section
	var names [][]string
	var pods []int
	index := map[string]int{}
	for _, w := range p.Workloads {
		for _, u := range w.Unplaced {
			s := unplaced(&u)
			key := fmt.Sprintf("%q %q", s.Text, s.List)
			i, seen := index[key]
			if !seen {
				i = len(out)
				index[key] = i
				out, names, pods = append(out, s), append(names, nil), append(pods, 0)
			}
			names[i], pods[i] = append(names[i], w.Namespace+"/"+w.Name), pods[i]+u.Pods
		}
	}
	for i := range out {
		out[i].Title = words.WithoutNode(names[i], pods[i])
	}
	return out
}

// pending names the pods without a node below the picture.
func (p *placement) pending() string {
	var names []string
	pods := 0
	for _, w := range p.Workloads {
		if left := w.Pods - w.Placed; left > 0 {
			names, pods = append(names, w.Namespace+"/"+w.Name), pods+left
		}
	}
	if pods == 0 {
		return ""
	}
	return words.Plural(pods, "pod") + " without a node: " + words.Names(names)
}

func unplaced(u *place.Unplaced) Section {
	out := Section{Text: []string{u.Reason}, List: u.Changes}
	for _, text := range []string{u.Preemption, u.Why} {
		if text != "" {
			out.Text = append(out.Text, text)
		}
	}
	if len(u.Changes) > 0 {
		out.Text = append(out.Text, "Any one of these would place "+words.OneOf(uint32(u.Pods))+":")
	}
	return out
}

func nodesOf(w *place.Workload) []string {
	var out []string
	for _, n := range w.Nodes {
		if n.Pods > 1 {
			n.Name = fmt.Sprintf("%s ×%d", n.Name, n.Pods)
		}
		out = append(out, n.Name)
	}
	return out
}
