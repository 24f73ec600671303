package rule

import (
	"slices"

	"github.com/stowage-scheduler/stowage/engine/internal/cluster"
	"github.com/stowage-scheduler/stowage/engine/internal/nodeset"
	"github.com/stowage-scheduler/stowage/engine/internal/topology"
	"github.com/stowage-scheduler/stowage/engine/verdict"
)

// Exclusion rejects the nodes in whose domain there is any pod of some: required anti-affinity in either direction, and
// host ports, for which each node is a domain.
type Exclusion struct {
	ID     verdict.JointRule
	Reason verdict.Reason
	Column *topology.Column // nil: each node is a domain
	Pods   Pods
	// Excludes reports whether the pod and another one that is to be placed, too, cannot share a domain. It is nil if the
	// rule is one of the pods on nodes; that pod has the rule then.
	Excludes func(other *cluster.Pending) bool

	state    *cluster.State
	term     *cluster.Term
	rejected nodeset.Set // nil until known
	counts   []int64     // by domain; nil until known
}

// NewExclusion returns a rule about the nodes of a state.
func NewExclusion(s *cluster.State, e Exclusion) *Exclusion {
	e.state = s
	return &e
}

// NewTermExclusion returns the rule that a term of the pod to be placed is.
func NewTermExclusion(s *cluster.State, t *cluster.Term, e Exclusion) *Exclusion {
	e.state, e.term = s, t
	e.Column = s.Column(t.TopologyKey)
	weight := func(g *cluster.Group) int64 {
		if t.Matches(g.Namespace, nil, g.Labels) {
			return 1
		}
		return 0
	}
	e.Pods = Pods{Weight: weight, Groups: func(yield func(int, *cluster.Group) bool) {
		for i, g := range s.Selectable(t.Selector) {
			if weight(g) != 0 && !yield(i, g) {
				return
			}
		}
	}}
	return &e
}

// EachExclusion passes the exclusions to a function: those for which each node is a domain, or the others.
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

// Domains returns how many domains there are, topology.None included.
func (e *Exclusion) Domains() int {
	if e.Column == nil {
		return e.state.Len()
	}
	return e.Column.Len()
}

// Counts returns the weight of the pods by domain. Nodes that lack the key count nowhere.
func (e *Exclusion) Counts() []int64 {
	if e.counts == nil {
		e.count()
	}
	return e.counts
}

func (e *Exclusion) count() {
	switch {
	case e.term != nil:
		e.counts = slices.Clone(e.state.Counts(e.term))
	case e.Column == nil:
		e.counts = topology.PerNode(e.state.Len(), e.Pods.members())
	default:
		e.counts = make([]int64, e.Domains())
		for _, g := range e.Pods.Groups {
			topology.Add(e.counts, e.Column, g.Members, e.Pods.Weight(g))
		}
	}
	if e.Column != nil {
		e.counts[topology.None] = 0
	}
}

// Rejected returns the nodes that the rule rejects as the state was when the rule was compiled.
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
		set = e.Column.Inhabited(e.Pods.members())
	default:
		set = topology.On(e.state.Len(), e.Pods.members())
	}
	if set == nil {
		set = nodeset.New(e.state.Len())
	}
	return set
}

// Allows reports whether the rule allows a node, one pod that weighs own in its domain left out.
func (e *Exclusion) Allows(node uint32, own int64) bool {
	d, in := e.Domain(node)
	return !in || e.Counts()[d] <= own
}

// Add counts pods of a weight that come to a node, or leave it if the weight is negative. It reports whether the domain
// changes between occupied and not.
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
