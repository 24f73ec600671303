package rule

import (
	"iter"
	"slices"

	"github.com/stowage-scheduler/stowage/engine/internal/cluster"
	"github.com/stowage-scheduler/stowage/engine/internal/nodeset"
	"github.com/stowage-scheduler/stowage/engine/internal/topology"
	"github.com/stowage-scheduler/stowage/engine/verdict"
)

// Exclusion rejects the domains that contain any of its pods: required anti-affinity in either direction, and host
// ports with each node as a domain.
type Exclusion struct {
	ID     verdict.PodRule
	Reason verdict.Reason
	Column *topology.Column // nil: each node is a domain
	Pods   Pods
	// Excludes reports whether the pod and another pending pod cannot share a domain. It is nil for a rule of existing
	// pods.
	Excludes func(other *cluster.Pending) bool
	// Slots returns what a pod of a group holds that the pod wants. Two pods of a node that hold one slot hold it once: it is
	// free as soon as one of them leaves. Only for a rule with each node as a domain; nil if every pod counts for itself.
	Slots func(*cluster.Group) []int
	// Held are the slots that are held on nodes where one is free, though a pod holds it that did not leave; nil for no such
	// node.
	Held map[uint32][]int

	state    *cluster.State
	term     *cluster.Term
	rejected nodeset.Set                 // nil until known
	counts   []int64                     // by domain; nil until known
	holders  map[uint32][]*cluster.Group // by node, with Slots; nil until needed
}

// NewExclusion returns a rule for the nodes of a state.
func NewExclusion(s *cluster.State, e Exclusion) *Exclusion {
	e.state = s
	return &e
}

// NewTermExclusion returns the rule of an anti-affinity term of the pod.
func NewTermExclusion(s *cluster.State, t *cluster.Term, e Exclusion) *Exclusion {
	e.state, e.term = s, t
	e.Column = s.Column(t.TopologyKey)
	e.Pods = Matching(s.Selectable(t.Selector), func(g *cluster.Group) bool { return t.Matches(g.Namespace, nil, g.Labels) })
	return &e
}

// EachExclusion passes exclusions to a function: with byNode the exclusions whose domains are single nodes, otherwise the others.
func (s *Set) EachExclusion(byNode bool, use func(*Exclusion)) {
	for _, e := range s.Exclusions {
		if (e.Column == nil) == byNode {
			use(e)
		}
	}
}

// Domain returns a node's domain, and whether the node is in one.
func (e *Exclusion) Domain(node uint32) (domain int32, in bool) {
	if e.Column == nil {
		return int32(node), true
	}
	domain = e.Column.Domain[node]
	return domain, domain != topology.None
}

// SameDomain reports whether two nodes are in one domain.
func (e *Exclusion) SameDomain(a, b uint32) bool {
	d, in := e.Domain(a)
	other, _ := e.Domain(b)
	return in && d == other
}

// Domains returns the number of domains, including topology.None.
func (e *Exclusion) Domains() int {
	if e.Column == nil {
		return e.state.Len()
	}
	return e.Column.Len()
}

// Counts returns the weights of the pods by domain; 0 for topology.None.
func (e *Exclusion) Counts() []int64 {
	if e.counts == nil {
		e.count()
	}
	return e.counts
}

// Counted reports whether Counts was called, so that Add counts.
func (e *Exclusion) Counted() bool { return e.counts != nil }

// Bytes is the approximate memory of the rule's results.
func (e *Exclusion) Bytes() int64 { return 8 * int64(len(e.counts)+len(e.rejected)) }

func (e *Exclusion) count() {
	switch {
	case e.term != nil:
		e.counts = slices.Clone(e.state.Counts(e.term))
	case e.Column == nil:
		e.counts = topology.PerNode(e.state.Len(), e.Pods.Members())
	default:
		e.counts = make([]int64, e.Domains())
		for _, g := range e.Pods.Groups {
			topology.Add(e.counts, e.Column, g.Members, e.Pods.Weight(g))
		}
	}
	if e.Column != nil {
		e.counts[topology.None] = 0
	}
	for node, slots := range e.Held {
		e.counts[node] = int64(len(slots))
	}
}

// Rejected returns the rejected nodes at the time of compilation.
func (e *Exclusion) Rejected() nodeset.Set {
	if e.rejected == nil {
		e.rejected = e.occupied()
	}
	return e.rejected
}

func (e *Exclusion) occupied() nodeset.Set {
	var set nodeset.Set
	switch {
	case e.term != nil:
		set = e.state.Occupied(e.term)
	case e.Column != nil:
		set = e.Column.Inhabited(e.Pods.Members())
	default:
		set = topology.On(e.state.Len(), e.Pods.Members())
	}
	if set == nil {
		set = nodeset.New(e.state.Len())
	}
	for node, slots := range e.Held {
		if len(slots) == 0 {
			set.Remove(node)
		}
	}
	return set
}

// Occupied reports whether any domain has pods.
func (e *Exclusion) Occupied() bool {
	if e.counts == nil {
		return !e.Rejected().Empty()
	}
	return slices.ContainsFunc(e.counts, func(n int64) bool { return n > 0 })
}

// Allows reports whether the rule allows a node, ignoring a pod of weight own in its domain.
func (e *Exclusion) Allows(node uint32, own int64) bool {
	d, in := e.Domain(node)
	return !in || e.Counts()[d] <= own
}

// AllowsWith reports whether the rule allows a node with additional pods of a weight on it, or with as much less if it is
// negative.
func (e *Exclusion) AllowsWith(node uint32, weight int64) bool {
	switch {
	case weight > 0:
		_, in := e.Domain(node)
		return !in
	case weight == 0 && e.counts == nil:
		return !e.Rejected().Has(node)
	}
	return e.Allows(node, -weight)
}

// heldBy returns the weight of the pods in the domain of a node. Pods that are going to leave the node have a weight with which
// their slots are free once all of them have left (Set.FreeSlots). With nil, none leaves, and pods that are there count as one.
func (e *Exclusion) heldBy(node uint32, leaving iter.Seq2[*cluster.Group, int64]) (weight int64) {
	if leaving == nil {
		return one(!e.AllowsWith(node, 0))
	}
	d, in := e.Domain(node)
	if !in {
		return 0
	}
	if _, found := e.Held[node]; e.Slots == nil || !found && e.Counts()[d] <= 0 {
		return e.Counts()[d]
	}
	for g, count := range leaving {
		weight += count * e.Pods.Weight(g)
	}
	return weight + e.held(node, func(yield func(*cluster.Group) bool) {
		for g := range leaving {
			if !yield(g) {
				return
			}
		}
	})
}

// Add adds pods of a weight on a node; a negative weight removes them. It reports whether the domain changed between
// empty and occupied.
func (e *Exclusion) Add(node uint32, weight int64) (turned bool) {
	d, in := e.Domain(node)
	if !in || weight == 0 {
		return false
	}
	counts := e.Counts()
	before := counts[d] > 0
	counts[d] += weight
	return before != (counts[d] > 0)
}
