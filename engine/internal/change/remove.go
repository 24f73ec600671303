package change

import (
	"cmp"
	"slices"

	"github.com/stowage-scheduler/stowage/engine/internal/cluster"
	"github.com/stowage-scheduler/stowage/engine/internal/rule"
	"github.com/stowage-scheduler/stowage/engine/internal/saturating"
)

// removePods looks for a minimum-size set of victims on one node. It proposes a set per candidate and verifies these
// sets by filtering, smallest first.
func (s *search) removePods() error {
	r := &victimSearch{
		search: s, needs: s.rules.Fit.Needs(), seen: make(map[string]bool), graded: gradedIn(s.rules),
	}
	r.findObstacles()
	r.survey()
	for _, m := range r.best[:min(len(r.best), maxTriedRemovals)] {
		mark := s.State.Mark()
		for j := range m.victims {
			s.State.Evict(m.from, &m.victims[j])
		}
		node, err := s.firstFeasible(s.State, s.Pod, s.candidates)
		s.State.Undo(mark)
		if node == nil && err == nil {
			continue
		}
		c := Found{From: m.from, Victims: m.victims}
		for j := range m.victims {
			c.RemovedPods = append(c.RemovedPods, s.State.PodReference(m.from, &m.victims[j]))
		}
		return s.add(c, node, err)
	}
	return nil
}

// victimSet is pods of one node whose removal should make a node feasible.
type victimSet struct {
	from, to uint32
	victims  []cluster.Occupant
	pods     int
	priority int32 // highest of the victims
}

func (v victimSet) compare(other victimSet) int {
	return cmp.Or(cmp.Compare(v.pods, other.pods), cmp.Compare(v.priority, other.priority),
		cmp.Compare(v.from, other.from), cmp.Compare(v.to, other.to))
}

func (v *victimSet) take(o cluster.Occupant) {
	if v.pods == 0 || o.Priority > v.priority {
		v.priority = o.Priority
	}
	v.victims = append(v.victims, o)
	v.pods += o.Count
}

// victimSearch is the search for victims.
type victimSearch struct {
	*search
	needs     []rule.Need
	obstacles []*obstacle
	affinity  *rule.Affinity
	matched   map[int]bool // groups that match the required affinity terms
	matching  int          // their pods in a domain of any term
	graded    []graded
	seen      map[string]bool
	best      []victimSet
	picks     int
}

// terms returns the required affinity terms of the pod.
func (r *victimSearch) terms() []rule.Term {
	if r.affinity == nil {
		return nil
	}
	return r.affinity.Terms
}

// target is a candidate with what rejects it.
type target struct {
	node      uint32
	from      int64 // the node of the victims, none if it is open
	obstacles []*obstacle
	short     []string // resources
	exceeded  []int    // graded
	needs     []int64  // missing amounts of the resources, then excesses
}

// target finds what rejects a node; not ok if removing pods of a single node cannot help.
func (r *victimSearch) target(n uint32) (t *target, ok bool) {
	t = &target{node: n, from: none}
	for _, term := range r.terms() {
		if !term.Column.Having.Has(n) {
			return nil, false
		}
	}
	nominated := r.nominated[n]
	needs := r.on(n, r.needs)
	for i := range needs {
		need := &needs[i]
		if short := saturating.Sub(need.Amount, need.Room(n)); short > 0 {
			if need.Amount > need.Allocatable(n) {
				return nil, false
			}
			t.short, t.needs, t.from = append(t.short, need.Resource), append(t.needs, short), int64(n)
		}
	}
	if r.rules.ExcludedBy(n, nominated) {
		return nil, false
	}
	for _, o := range r.obstacles {
		if !o.rejected.Has(n) {
			continue
		}
		holder := o.holder[o.domain(n)]
		if holder == many || t.from != none && t.from != holder {
			return nil, false
		}
		t.obstacles, t.from = append(t.obstacles, o), holder
	}
	for i := range r.graded {
		switch over := r.graded[i].excess(n, nominated); {
		case over == rule.Never:
			return nil, false
		case over > 0:
			t.exceeded, t.needs = append(t.exceeded, i), append(t.needs, over)
		}
	}
	return t, t.from != none || len(t.exceeded) > 0
}

// consider picks victims on a node for a target.
func (r *victimSearch) consider(from uint32, t *target) {
	m := victimSet{from: from, to: t.node}
	p := &picker{needs: slices.Clone(t.needs), spare: r.spare(from, t), matching: r.matching}
	p.self = r.affinity != nil && r.affinity.Self
	for _, o := range r.State.Occupants(from) {
		if r.keepAssumed && o.Queue >= 0 {
			continue
		}
		if r.comesBack(from, &o) {
			if slices.ContainsFunc(t.obstacles, func(b *obstacle) bool { return b.victims[o.Group] }) {
				return
			}
			continue
		}
		k := kind{
			Occupant: o, gives: make([]int64, 0, len(p.needs)), terminating: r.State.Group(o.Group).Terminating,
			matches: r.matched[o.Group] && r.affinity.Anywhere(from),
		}
		for _, resource := range t.short {
			k.gives = append(k.gives, o.Uses(resource))
		}
		for _, i := range t.exceeded {
			k.gives = append(k.gives, r.graded[i].gives(r.State.Group(o.Group), from, t.node))
		}
		if !slices.ContainsFunc(t.obstacles, func(o *obstacle) bool { return o.victims[k.Group] }) {
			p.kinds = append(p.kinds, k)
			continue
		}
		m.take(o)
		for j, gives := range k.gives {
			p.needs[j] = saturating.Sub(p.needs[j], saturating.Mul(gives, int64(o.Count)))
		}
		if k.matches {
			p.gone += o.Count
		}
	}
	found := p.pick()
	if r.picks += p.picks + picksOfOccupants; !found {
		return
	}
	for i, count := range p.chosen {
		if count > 0 {
			o := p.kinds[i].Occupant
			o.Count = count
			m.take(o)
		}
	}
	if m.pods == 0 {
		return
	}
	r.best = append(r.best, m)
	if len(r.best) > 4*maxTriedRemovals {
		slices.SortFunc(r.best, victimSet.compare)
		r.best = r.best[:maxTriedRemovals]
	}
}

// spare returns how many matching pods of a node may become victims so that the target's domains keep one.
func (r *victimSearch) spare(from uint32, t *target) int {
	spare := r.matching
	for _, term := range r.terms() {
		if d := term.Column.Domain[t.node]; term.Column.Domain[from] == d {
			spare = min(spare, int(term.Counts[d])-1)
		}
	}
	return spare
}
