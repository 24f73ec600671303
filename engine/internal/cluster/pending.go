package cluster

import (
	"slices"

	"github.com/stowage-scheduler/stowage/engine/api"
	"github.com/stowage-scheduler/stowage/engine/internal/selector"
)

// Pending is a compiled pending pod of one State.
type Pending struct {
	*api.Pod
	// Shape is what the rules of other pods read.
	*Shape
	NamespaceLabels selector.Labels
	// These are the pod's own terms with resolved namespace selectors.
	Affinity              []Term
	AntiAffinity          []Term
	PreferredAffinity     []WeightedTerm
	PreferredAntiAffinity []WeightedTerm
	// Nomination is the pod's nomination by the request, nil for none. Its node is then Pod.NominatedNode.
	Nomination *Nomination

	usage Usage
	group int // -1 until State.Expect
}

// Compile compiles a pending pod.
func (s *State) Compile(pod *api.Pod) *Pending {
	shape := compileShape(s.Symbols, pod.Template, pod.Name, pod.Labels, pod.Terminating, nil)
	return &Pending{
		Pod:                   pod,
		Shape:                 shape,
		NamespaceLabels:       s.NamespaceLabels(shape.Namespace),
		Affinity:              resolved(s.Cluster, shape.Affinity),
		AntiAffinity:          resolved(s.Cluster, shape.AntiAffinity),
		PreferredAffinity:     resolvedWeighted(s.Cluster, shape.PreferredAffinity),
		PreferredAntiAffinity: resolvedWeighted(s.Cluster, shape.PreferredAntiAffinity),
		usage:                 usageOf(&pod.Template.Spec, nil),
		group:                 -1,
	}
}

// Frees reports whether the pod's summed request overflows to a negative amount, so that placing it increases a node's free
// amount.
func (p *Pending) Frees() bool {
	negative := func(amount int64) bool { return amount < 0 }
	return slices.ContainsFunc(p.usage.Amounts[:], negative) ||
		slices.ContainsFunc(p.usage.Scalars, func(q api.Quantity) bool { return negative(q.Amount) })
}

// Group returns the group of a pod that the state expects.
func (p *Pending) Group() int { return p.group }

// Usage returns what the pod occupies on a node.
func (p *Pending) Usage() *Usage { return &p.usage }

// Spec returns the spec of the pod's template.
func (p *Pending) Spec() *api.PodSpec { return &p.Template.Spec }

func resolved(c *Cluster, terms []Term) []Term {
	out := make([]Term, len(terms))
	for i := range terms {
		out[i] = terms[i].resolve(c)
	}
	return out
}

func resolvedWeighted(c *Cluster, terms []WeightedTerm) []WeightedTerm {
	out := make([]WeightedTerm, len(terms))
	for i := range terms {
		out[i] = WeightedTerm{Term: terms[i].resolve(c), Weight: terms[i].Weight}
	}
	return out
}
