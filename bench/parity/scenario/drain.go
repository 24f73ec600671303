package scenario

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
)

// Drain is nodes that are drained.
type Drain struct {
	Mode DrainMode `json:"mode"`
	// Nodes are drained, all if nil; pods may move to Targets, to all nodes if nil.
	Nodes         []string `json:"nodes,omitzero"`
	Targets       []string `json:"targets,omitzero"`
	Terminating   bool     `json:"terminating,omitempty"`
	IgnoreBudgets bool     `json:"ignoreBudgets,omitempty"`
	Force         bool     `json:"force,omitempty"`
	// Steps is the budget of the search for the largest set; the default if 0.
	Steps int `json:"steps,omitempty"`
}

// DrainMode is the kind of drain.
type DrainMode string

// The modes.
const (
	EachNode   DrainMode = "each"
	Together   DrainMode = "together"
	LargestSet DrainMode = "largest"
)

// Drained returns the names of the nodes to drain, in the order of the cluster.
func (c *Case) Drained() []string {
	var out []string
	for _, n := range c.Nodes {
		if c.Drain.Nodes == nil || slices.Contains(c.Drain.Nodes, n.Name) {
			out = append(out, n.Name)
		}
	}
	return out
}

// Unit is pods of a node that are drained alike: a pod with a name, or all that are counted together.
type Unit struct {
	Node int
	Pods []*corev1.Pod
	// Counted says that the pods have no names.
	Counted bool
	kind    int
}

// Units returns the pods of a node in the order in which a drain evicts them: counted pods, pods with names, and then pods in moved,
// ordered by the positions that moved returns.
func (c *Case) Units(node int, counted Counted, moved func(*corev1.Pod) (at int, ok bool)) []*Unit {
	var counts, named, came []*Unit
	for _, p := range c.Pods {
		if p.Spec.NodeName != c.Nodes[node].Name {
			continue
		}
		if at, ok := moved(p); ok {
			came = append(came, &Unit{Node: node, Pods: []*corev1.Pod{p}, Counted: true, kind: at})
			continue
		}
		kind, together := counted(p)
		if !together {
			named = append(named, &Unit{Node: node, Pods: []*corev1.Pod{p}})
			continue
		}
		i := slices.IndexFunc(counts, func(u *Unit) bool { return u.kind == kind })
		if i < 0 {
			i = len(counts)
			counts = append(counts, &Unit{Node: node, Counted: true, kind: kind})
		}
		counts[i].Pods = append(counts[i].Pods, p)
	}
	byKind := func(a, b *Unit) int { return a.kind - b.kind }
	slices.SortFunc(counts, byKind)
	slices.SortStableFunc(named, func(a, b *Unit) int { return Canonically(a.Pods[0], b.Pods[0]) })
	slices.SortFunc(came, byKind)
	return slices.Concat(counts, named, came)
}
