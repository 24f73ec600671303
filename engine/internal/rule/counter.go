package rule

import (
	"iter"
	"math"
	"slices"

	"github.com/stowage-scheduler/stowage/engine/api"
	"github.com/stowage-scheduler/stowage/engine/internal/cluster"
	"github.com/stowage-scheduler/stowage/engine/internal/nodeset"
	"github.com/stowage-scheduler/stowage/engine/internal/saturating"
	"github.com/stowage-scheduler/stowage/engine/internal/topology"
	"github.com/stowage-scheduler/stowage/engine/verdict"
)

// Counter is what every rule that counts pods has in common. A pod has a weight, and counts with it in the domain of its
// node.
type Counter interface {
	// Weight returns what one pod counts; 0 for nothing.
	Weight(*cluster.Group) int64
	// Domain returns the domain in which pods on a node count. in is false if they do not count.
	Domain(node uint32) (domain int32, in bool)
	// Add counts a weight on a node; a negative weight leaves it. It reports whether that matters to the nodes of the domain.
	Add(node uint32, weight int64) bool
	// Excess returns a weight that has to leave the domain of a node, at the least, before the rule allows the node with more
	// weight on it. 0 and negative numbers stand for an allowed node, Never for one that stays rejected whatever leaves.
	Excess(node uint32, more int64) int64
}

// Never is the excess of a node that stays rejected whatever leaves.
const Never = math.MaxInt64

// Kind is a counter of a kind that its plugin defines. The excess of a node is lower by as much as the weight in its domain
// is, so that a pod which a node rejects is rejected until pods leave.
type Kind interface {
	Counter
	Rule() verdict.PodRule
	// Column is the topology key of the domains; nil if each node is a domain.
	Column() *topology.Column
	// Rejection is the code and reason for the nodes that the rule rejects.
	Rejection() (verdict.Code, verdict.Reason)
	// Rejected returns the nodes that the rule rejects, which must not be changed.
	Rejected() nodeset.Set
	// Groups iterates over the groups of the state that may have a weight.
	Groups() iter.Seq2[int, *cluster.Group]
	// Counts returns the weights by domain, which must not be changed.
	Counts() []int64
	// Fork returns the rule with counts of its own.
	Fork() Kind
}

// Sharing is a Kind whose pods share what they count: what several of them have counts once on a node. The weights of its pods are those
// of each pod alone.
type Sharing interface {
	Kind
	// More returns how much more a node counts, in the unit of Excess, when numbers of pods of some groups come to it, or leave it if they
	// are negative.
	More(node uint32, changes iter.Seq2[*cluster.Group, int64]) int64
}

// Shares reports whether the set has a rule whose pods share what they count.
func (s *Set) Shares() bool {
	return slices.ContainsFunc(s.Others, func(k Kind) bool { _, shares := k.(Sharing); return shares })
}

// Share corrects the vector of pods that come to a node or leave it for rules whose pods share what they count.
func (s *Set) Share(node uint32, v Vector, changes iter.Seq2[*cluster.Group, int64]) {
	for i, k := range s.Others {
		if shared, ok := k.(Sharing); ok && v != nil {
			v[len(s.Spread)+1+len(s.Exclusions)+i] = shared.More(node, changes)
		}
	}
}

// Counters iterates over the rules that count pods by domain, each with its place in a Vector.
func (s *Set) Counters() iter.Seq2[int, Counter] {
	return func(yield func(int, Counter) bool) {
		at := 0
		for _, r := range s.Spread {
			if !yield(at, r) {
				return
			}
			at++
		}
		if s.Affinity != nil && !yield(at, s.Affinity) {
			return
		}
		at++
		for _, e := range s.Exclusions {
			if !yield(at, e) {
				return
			}
			at++
		}
		for _, k := range s.Others {
			if !yield(at, k) {
				return
			}
			at++
		}
	}
}

// Places is the number of places of counters in a Vector. The places of needs follow.
func (s *Set) Places() int { return len(s.Spread) + 1 + len(s.Exclusions) + len(s.Others) }

// AddPod counts pods with weights on a node, or lets them leave it if their number is negative. nil stands for no weights.
func (s *Set) AddPod(node uint32, v Vector, count int64) {
	if v == nil {
		return
	}
	for at, c := range s.Counters() {
		if weight := v[at]; weight != 0 {
			c.Add(node, count*weight)
		}
	}
}

// Weights returns what one pod of a group counts by counter; nil if it does not count anywhere.
func (s *Set) Weights(g *cluster.Group) Vector { return s.weights(g, true) }

func (s *Set) weights(g *cluster.Group, recount bool) Vector {
	if !s.domains() {
		return nil
	}
	v := make(Vector, s.Places())
	s.addWeights(v, g, recount)
	if !slices.ContainsFunc(v, func(n int64) bool { return n != 0 }) {
		return nil
	}
	return v
}

// Weight returns 1 for a pod that counts.
func (r *Spread) Weight(g *cluster.Group) int64 { return r.Pods.Weight(g) }

// Domain returns the domain in which pods on a node count.
func (r *Spread) Domain(node uint32) (domain int32, in bool) {
	domain = r.Column.Domain[node]
	return domain, domain != topology.None && r.Counted.Has(node)
}

// Excess returns by how much the domain exceeds maxSkew. As pods that leave may lower the minimum, it may take more of them.
func (r *Spread) Excess(node uint32, more int64) int64 {
	if r.Column.Domain[node] == topology.None {
		return Never
	}
	return r.SkewWith(node, more) - r.MaxSkew
}

// Weight returns 1 for a pod that matches all terms.
func (a *Affinity) Weight(g *cluster.Group) int64 { return a.Pods.Weight(g) }

// Domain returns one domain for all nodes that are in a domain of any term.
func (a *Affinity) Domain(node uint32) (domain int32, in bool) { return 0, a.Anywhere(node) }

// Excess returns all pods that match if the pod can be the first of its set once these have left.
func (a *Affinity) Excess(node uint32, more int64) int64 {
	switch {
	case a.AllowsWith(node, more):
		return 0
	case !a.Self || !a.Offers(node, WithKey):
		return Never
	}
	return a.Matched() + more
}

// Weight returns the weight of a pod.
func (e *Exclusion) Weight(g *cluster.Group) int64 { return e.Pods.Weight(g) }

// Excess returns the weight in the domain of a node: all of it has to leave.
func (e *Exclusion) Excess(node uint32, more int64) int64 {
	d, in := e.Domain(node)
	if !in {
		return 0
	}
	return e.Counts()[d] + more
}

// Excess returns the amount by which the room of a node falls short of the need, Never if the node does not have as much.
func (n *Need) Excess(node uint32) int64 {
	if n.beyond(node) {
		return Never
	}
	return saturating.Sub(n.Amount, n.Room(node))
}

// beyond reports whether a node has less than the need even without pods.
func (n *Need) beyond(node uint32) bool {
	return n.Resource != api.ResourcePods && n.Amount > n.Allocatable(node)
}
