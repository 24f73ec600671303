package joint

import (
	"github.com/stowage-scheduler/stowage/engine/internal/saturating"
	"github.com/stowage-scheduler/stowage/engine/internal/topology"
)

// Spot is where a pod of a group goes.
type Spot struct {
	Replicas int
	Node     uint32
}

// Wrong returns, by spot, which pods their rules do not let be there if only the pods of the spots are placed.
func (g *Group) Wrong(spots []Spot) []bool {
	all := make([]bool, len(g.Rules))
	wrong := make([]bool, len(spots))
	for i := range spots {
		wrong[i] = !g.right(spots, i, all)
	}
	return wrong
}

// right reports whether a pod's rules hold, but for those given up.
func (g *Group) right(spots []Spot, i int, given []bool) bool {
	s := spots[i]
	r := &g.replicas[s.Replicas]
	for _, l := range r.limits {
		if !l.allowed.Has(s.Node) && (l.rule == noRule || !given[l.rule]) {
			return false
		}
	}
	for j := range r.needs {
		n := &r.needs[j]
		if !given[n.rule] && g.taken(spots, s.Node, n.Resource) > n.Room(s.Node) {
			return false
		}
	}
	for j, other := range spots {
		if j != i && (g.parted(s, other, given) || g.parted(other, s, given)) {
			return false
		}
	}
	return r.accompanied(spots, i, given) && r.balanced(spots, i, given)
}

// taken returns what the pods of the spots on a node take of a resource.
func (g *Group) taken(spots []Spot, node uint32, resource string) int64 {
	var sum int64
	for _, s := range spots {
		if s.Node == node {
			sum = saturating.Add(sum, g.replicas[s.Replicas].amount(resource))
		}
	}
	return sum
}

func (r *replicas) amount(resource string) int64 {
	for i := range r.needs {
		if r.needs[i].Resource == resource {
			return r.needs[i].Amount
		}
	}
	return 0
}

// parted reports whether an exclusion of a forbids b its domain.
func (g *Group) parted(a, b Spot, given []bool) bool {
	for i := range g.replicas[a.Replicas].apart {
		if t := &g.replicas[a.Replicas].apart[i]; !given[t.rule] && t.from[b.Replicas] && t.together(a.Node, b.Node) {
			return true
		}
	}
	return false
}

// accompanied reports whether a pod's affinity terms hold.
func (r *replicas) accompanied(spots []Spot, i int, given []bool) bool {
	found := false
	missing := false
	for t := range r.with {
		w := &r.with[t]
		if given[w.rule] {
			continue
		}
		here := w.column.Domain[spots[i].Node]
		if here == topology.None {
			return false
		}
		met := w.inhabited[here]
		found = found || w.anywhere()
		for j, other := range spots {
			if d := w.column.Domain[other.Node]; j != i && r.wanted[other.Replicas] && d != topology.None {
				found = true
				met = met || d == here
			}
		}
		missing = missing || !met
	}
	return !missing || !found && r.self
}

func (w *with) anywhere() bool {
	for _, inhabited := range w.inhabited {
		if inhabited {
			return true
		}
	}
	return false
}

// balanced reports whether a pod's hard spread constraints hold.
func (r *replicas) balanced(spots []Spot, i int, given []bool) bool {
	for t := range r.even {
		e := &r.even[t]
		if given[e.rule] {
			continue
		}
		here := e.Column.Domain[spots[i].Node]
		if here == topology.None {
			return false
		}
		counts := append([]int64(nil), e.Counts()...)
		for j, other := range spots {
			if j != i && e.matches[other.Replicas] && e.Counted.Has(other.Node) {
				counts[e.Column.Domain[other.Node]]++
			}
		}
		skew := counts[here] - e.minimum(counts)
		if e.SelfMatch {
			skew++
		}
		if skew > e.MaxSkew {
			return false
		}
	}
	return true
}

func (e *even) minimum(counts []int64) int64 {
	if e.Floor() {
		return 0
	}
	minimum := int64(-1)
	for d, present := range e.Present() {
		if present && (minimum < 0 || counts[d] < minimum) {
			minimum = counts[d]
		}
	}
	return minimum
}
