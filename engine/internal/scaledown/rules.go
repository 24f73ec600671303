package scaledown

import (
	"slices"

	"github.com/stowage-scheduler/stowage/engine/internal/rule"
	"github.com/stowage-scheduler/stowage/engine/internal/topology"
	"github.com/stowage-scheduler/stowage/engine/verdict"
)

// replicaRules evaluates the workload's rules for replicas where they are, while replicas are deleted.
type replicaRules struct {
	*rule.Set
	static []rule.Static
	needs  []rule.Need
	// atLimit is, by spread constraint, the number of replicas in domains that would exceed maxSkew if the minimum
	// decreased by one.
	atLimit []int
}

func (s *scaling) findRules() {
	set := s.Rules()
	set.Count()
	static := slices.DeleteFunc(set.StaticByID(), func(r rule.Static) bool { // a replica has its devices
		return r.ID.Plugin == verdict.DynamicResources
	})
	s.rules = replicaRules{Set: set, static: static, needs: set.Fit.Needs(), atLimit: make([]int, len(set.Spread))}
	for i := range s.spots {
		p := &s.spots[i]
		p.weights = make(rule.Vector, set.Places())
		for at, c := range set.Counters() {
			if _, in := c.Domain(p.node); in {
				p.weights[at] = c.Weight(s.State.Group(p.Group))
			}
		}
	}
}

// prepare computes what disruption needs.
func (r *replicaRules) prepare(spots []spot) {
	for i, h := range r.Spread {
		if r.atLimit[i] = 0; h.Floor() {
			continue
		}
		minimum := h.Minimum()
		for j := range spots {
			p := &spots[j]
			if d := h.Column.Domain[p.node]; p.Count > 0 && d != topology.None &&
				h.AllowsOver(minimum, h.Counts()[d]-p.weights[i]) && !h.AllowsOver(minimum-1, h.Counts()[d]-p.weights[i]) {
				r.atLimit[i] += p.Count
			}
		}
	}
}

// minimumWithout returns the minimum of a spread constraint after the deletion of a replica.
func (r *replicaRules) minimumWithout(p *spot, constraint int) int64 {
	h := r.Spread[constraint]
	if h.Floor() || h.Counts()[h.Column.Domain[p.node]] != h.Minimum() {
		return h.Minimum()
	}
	return h.Minimum() - p.weights[constraint]
}

// broken returns the rules that reject a replica where it is, and the number of their plugins.
func (r *replicaRules) broken(p *spot) (rules []verdict.PodRule, plugins int) {
	first := len(r.Spread) + 1 // place of an exclusion
	add := func(id verdict.PodRule) {
		if !slices.ContainsFunc(rules, func(other verdict.PodRule) bool { return other.Plugin == id.Plugin }) {
			plugins++
		}
		rules = append(rules, id)
	}
	exclusions := func(byNode bool) {
		for i, e := range r.Exclusions {
			if (e.Column == nil) == byNode && !e.Allows(p.node, p.weights[first+i]) {
				add(e.ID)
			}
		}
	}
	for i := range r.static {
		if r.static[i].Rejected.Has(p.node) {
			add(r.static[i].ID)
		}
	}
	exclusions(true)
	for i := range r.needs {
		need := &r.needs[i]
		room := need.Room(p.node)
		// A replica uses no more than the node has.
		if need.Amount > room+min(p.Uses(need.Resource), need.Allocatable(p.node)-room) {
			add(verdict.PodRule{Plugin: need.Plugin, Resource: need.Resource})
		}
	}
	for i, h := range r.Spread {
		d := h.Column.Domain[p.node]
		if d == topology.None || !h.AllowsOver(r.minimumWithout(p, i), h.Counts()[d]-p.weights[i]) {
			add(h.ID)
		}
	}
	exclusions(false)
	for i, k := range r.Others {
		if k.Excess(p.node, -p.weights[first+len(r.Exclusions)+i]) > 0 {
			add(k.Rule())
		}
	}
	affinity := p.weights[first-1]
	if r.Affinity != nil && !r.Affinity.FirstWithout(p.node, affinity) {
		for i := range r.Affinity.Terms {
			if t := &r.Affinity.Terms[i]; !t.MatchedWithout(p.node, affinity) {
				add(t.ID)
			}
		}
	}
	return rules, plugins
}

// disruption returns how many replicas would be rejected where they are because of the deletion of one.
func (r *replicaRules) disruption(p *spot) int {
	disruption := 0
	for i, h := range r.Spread {
		if r.minimumWithout(p, i) < h.Minimum() {
			disruption = max(disruption, r.atLimit[i])
		}
	}
	if p.weights[len(r.Spread)] == 0 || r.Affinity.Matched() <= 2 {
		return disruption
	}
	for i := range r.Affinity.Terms {
		// The deletion of the second last leaves the last one without a match.
		t := &r.Affinity.Terms[i]
		if d := t.Column.Domain[p.node]; d != topology.None && t.Counts[d] == 2 {
			disruption = max(disruption, 1)
		}
	}
	return disruption
}

func bit(b bool) int64 {
	if b {
		return 1
	}
	return 0
}
