package result

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/stowage-scheduler/stowage/clients/render/text"

	corev1 "k8s.io/api/core/v1"

	"github.com/stowage-scheduler/stowage/clients/compact"
	"github.com/stowage-scheduler/stowage/clients/fill"
	"github.com/stowage-scheduler/stowage/clients/page"

	stowagev1 "github.com/stowage-scheduler/stowage/proto/stowage/v1"
)

// Node is how full a node is, and what the answer says of it.
type Node struct {
	Name string `json:"name"`
	// Domain is the node's value of the topology key.
	Domain string `json:"domain,omitempty"`
	// Allocatable is what the node has for pods. Requested is what its pods request, with their number as "pods", and RequestedAfter
	// is that after the answer; it is absent if the answer moves no pods, or several answers move them differently.
	Allocatable    corev1.ResourceList `json:"allocatable"`
	Requested      corev1.ResourceList `json:"requested"`
	RequestedAfter corev1.ResourceList `json:"requestedAfter,omitempty"`
	// Feasible is whether the node can take the pod; only in an ExplainReport.
	Feasible *bool `json:"feasible,omitempty"`
	// State is what becomes of the node by the answer.
	State NodeState `json:"state,omitempty"`
	// Drained is whether the node can be drained; of the nodes to drain, and of those that may be removed.
	Drained *bool `json:"drained,omitempty"`
	// Reasons are why it cannot, in kube-scheduler's words where it has them.
	Reasons []string `json:"reasons,omitempty"`
}

// NodeState is what becomes of a node.
type NodeState string

// The states.
const (
	Added   NodeState = "added"
	Removed NodeState = "removed"
	Failed  NodeState = "failed"
)

// nodesOf lists the nodes of a cluster. after is nil if no pods move.
func nodesOf(c *stowagev1.Cluster, key string, before, after *fill.Nodes) []Node {
	out := make([]Node, len(c.GetNodes()))
	for i, n := range c.GetNodes() {
		out[i] = Node{
			Name: n.GetName(), Domain: compact.Labels(c, n)[key],
			Allocatable: before.All[i].Allocatable, Requested: before.All[i].Requested,
		}
		if after != nil {
			out[i].RequestedAfter = after.All[i].Requested
		}
	}
	return out
}

// filled is how full the node is in a picture: after the answer.
func (n *Node) filled() *fill.Node {
	if n.RequestedAfter != nil {
		return &fill.Node{Allocatable: n.Allocatable, Requested: n.RequestedAfter}
	}
	return &fill.Node{Allocatable: n.Allocatable, Requested: n.Requested}
}

// DomainNote is what an answer says of a domain as a whole, and whether that is good.
type DomainNote struct {
	Text string
	Good bool
}

// picture draws nodes by domain, with their pods and what is said of the domains.
func picture(key string, nodes []Node, pods *text.Picture, notes map[string]DomainNote) *page.Picture {
	out := &page.Picture{TopologyKey: key}
	index := map[string]int{}
	pods.Nodes(func(i int, added, there, gone text.Pods) {
		n := &nodes[i]
		at, ok := index[n.Domain]
		if !ok {
			at = len(out.Domains)
			index[n.Domain] = at
			out.Domains = append(out.Domains, domain(n.Domain, notes))
		}
		good, bad := n.meaning()
		out.Good, out.Bad = cmp.Or(out.Good, good), cmp.Or(out.Bad, bad)
		d := &out.Domains[at]
		d.Nodes = append(d.Nodes, n.box(added, there, gone))
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

func domain(name string, notes map[string]DomainNote) page.Domain {
	out := page.Domain{Name: name}
	if note, ok := notes[name]; ok && name != "" {
		out.Note, out.State = note.Text, page.Bad
		if note.Good {
			out.State = page.Good
		}
	}
	return out
}

// meaning is what a good or a bad node is, by what the answer says of this one.
func (n *Node) meaning() (good, bad string) {
	switch {
	case n.Feasible != nil:
		return "that can take the pod", "that cannot take the pod"
	case n.Drained != nil:
		return "that can be drained", "that cannot be drained"
	case n.State == Added:
		return string(Added), ""
	case n.State != "":
		return "", string(n.State)
	case len(n.Reasons) > 0:
		return "", "with a problem"
	}
	return "", ""
}

// box is the node in a picture.
func (n *Node) box(added, there, gone text.Pods) page.Node {
	f := n.filled()
	out := page.Node{Name: n.Name, There: page.Pods(there), Added: page.Pods(added), Gone: page.Pods(gone)}
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
			out.State = page.Good
		default:
			out.State = page.Bad
		}
	}
	switch {
	case n.State == Added:
		out.State = page.Good
	case n.State != "" || len(n.Reasons) > 0 && out.State == page.None:
		out.State = page.Bad
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
func share(n *fill.Node, name corev1.ResourceName) page.Share {
	out := page.Share{Resource: text.ShortResource(name)}
	out.Percent, _ = n.Percent(name)
	if name != corev1.ResourceCPU && name != corev1.ResourceMemory {
		requested, has := n.Requested[name], n.Allocatable[name]
		out.Text = requested.String() + "/" + has.String()
	}
	return out
}

// table lists how full the nodes are.
func table(key string, nodes []Node) page.Section {
	out := page.Section{
		Title: fmt.Sprintf("Nodes (%d)", len(nodes)), Folded: true,
		Columns: []string{"Node", key, "CPU", "Memory", "Pods", "Pods before", "Verdict"},
	}
	for i := range nodes {
		n := &nodes[i]
		f := n.filled()
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
	}
	return out
}
