package html

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/stowage-scheduler/stowage/clients/answer"
	"github.com/stowage-scheduler/stowage/clients/render/text"

	corev1 "k8s.io/api/core/v1"

	"github.com/stowage-scheduler/stowage/clients/fill"
)

// filled is how full the node is in a picture: after the answer.
func filled(n *answer.Node) *fill.Node {
	if n.RequestedAfter != nil {
		return &fill.Node{Allocatable: n.Allocatable, Requested: n.RequestedAfter}
	}
	return &fill.Node{Allocatable: n.Allocatable, Requested: n.Requested}
}

// PictureOf draws nodes by domain, with their pods and what is said of the domains.
func PictureOf(key string, nodes []answer.Node, pods *text.Picture, notes map[string]answer.DomainNote) *Picture {
	out := &Picture{TopologyKey: key}
	index := map[string]int{}
	pods.Nodes(func(i int, added, there, gone text.Pods) {
		n := &nodes[i]
		at, ok := index[n.Domain]
		if !ok {
			at = len(out.Domains)
			index[n.Domain] = at
			out.Domains = append(out.Domains, domain(n.Domain, notes))
		}
		good, bad := meaning(n)
		out.Good, out.Bad = cmp.Or(out.Good, good), cmp.Or(out.Bad, bad)
		d := &out.Domains[at]
		d.Nodes = append(d.Nodes, drawn(n, added, there, gone))
	})
	for _, d := range out.Domains {
		var names []string
		for i := range d.Nodes {
			names = append(names, d.Nodes[i].Name)
		}
		for i, name := range text.Shortened(names, out.NameLength()) {
			d.Nodes[i].Name = name
		}
	}
	return out
}

func domain(name string, notes map[string]answer.DomainNote) Domain {
	out := Domain{Name: name}
	if note, ok := notes[name]; ok && name != "" {
		out.Note, out.State = note.Text, Bad
		if note.Good {
			out.State = Good
		}
	}
	return out
}

// meaning is what a good or a bad node is, by what the answer says of this one.
func meaning(n *answer.Node) (good, bad string) {
	switch {
	case n.Feasible != nil:
		return "that can take the pod", "that cannot take the pod"
	case n.Drained != nil:
		return "that can be drained", "that cannot be drained"
	case n.State == answer.Added:
		return string(answer.Added), ""
	case n.State != "":
		return "", string(n.State)
	case len(n.Reasons) > 0:
		return "", "with a problem"
	}
	return "", ""
}

// box is the node in a picture.
func drawn(n *answer.Node, added, there, gone text.Pods) Node {
	f := filled(n)
	out := Node{Name: n.Name, There: Pods(there), Added: Pods(added), Gone: Pods(gone)}
	lines := []string{strings.TrimSuffix(n.Name+", "+string(n.State), ", ")}
	for _, r := range text.Resources(f) {
		out.Shares = append(out.Shares, share(f, r))
		lines = append(lines, string(r)+" "+text.Share(f, r))
	}
	lines = append(lines, "pods "+text.Share(f, corev1.ResourcePods))
	for _, said := range []struct {
		what string
		pods text.Pods
	}{{"new: ", added}, {"gone: ", gone}, {"", there}} {
		if said.pods.Count > 0 {
			lines = append(lines, said.what+listed(said.pods.Kinds))
		}
	}
	for _, verdict := range []*bool{n.Feasible, n.Drained} {
		switch {
		case verdict == nil:
		case *verdict:
			out.State = Good
		default:
			out.State = Bad
		}
	}
	switch {
	case n.State == answer.Added:
		out.State = Good
	case n.State != "" || len(n.Reasons) > 0 && out.State == None:
		out.State = Bad
	}
	out.Text = strings.Join(append(lines, n.Reasons...), "\n")
	return out
}

// maximumKinds bounds the pods that the text of a node names.
const maximumKinds = 20

func listed(kinds []string) string {
	if more := len(kinds) - maximumKinds; more > 1 {
		kinds = append(kinds[:maximumKinds:maximumKinds], fmt.Sprintf("and %d more", more))
	}
	return strings.Join(kinds, ", ")
}

// share is the part of a resource that is requested. Devices are counted.
func share(n *fill.Node, name corev1.ResourceName) Share {
	out := Share{Resource: text.ShortResource(name)}
	out.Percent, _ = n.Percent(name)
	if name != corev1.ResourceCPU && name != corev1.ResourceMemory {
		requested, has := n.Requested[name], n.Allocatable[name]
		out.Text = requested.String() + "/" + has.String()
	}
	return out
}

// NodeTable lists how full the nodes are.
func NodeTable(key string, nodes []answer.Node) Section {
	out := Section{
		Title: fmt.Sprintf("Nodes (%d)", len(nodes)), Folded: true,
		Columns: []string{"Node", key, "CPU", "Memory", "Pods", "Pods before", "Verdict"},
	}
	devices := slices.ContainsFunc(nodes, func(n answer.Node) bool { return text.Devices(filled(&n)) != "" })
	if devices {
		out.Columns = slices.Insert(out.Columns, 4, "Devices")
	}
	for i := range nodes {
		n := &nodes[i]
		f := filled(n)
		before := n.Requested[corev1.ResourcePods]
		verdict := string(n.State)
		switch {
		case n.Feasible != nil && *n.Feasible:
			verdict = "can take it"
		case n.Drained != nil && *n.Drained:
			verdict = "can be drained"
		}
		if len(n.Reasons) > 0 {
			verdict = strings.Join(n.Reasons, ", ")
		}
		out.Rows = append(out.Rows, []string{
			n.Name, n.Domain, text.Share(f, corev1.ResourceCPU), text.Share(f, corev1.ResourceMemory),
			text.Share(f, corev1.ResourcePods), before.String(), verdict,
		})
		if last := len(out.Rows) - 1; devices {
			out.Rows[last] = slices.Insert(out.Rows[last], 4, text.Devices(f))
		}
	}
	return out
}
