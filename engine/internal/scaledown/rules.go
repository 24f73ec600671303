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

// weights are what a replica adds to the counts of the rules on its node.
type weights struct {
	exclusions, spread []int64
	affinity           int64
}

func (s *scaling) findRules() {
	set := s.Rules()
	set.Count()
	s.rules = replicaRules{Set: set, static: set.StaticByID(), needs: set.Fit.Needs(), atLimit: make([]int, len(set.Spread))}
	for i := range s.spots {
		p := &s.spots[i]
		g := s.State.Group(p.Group)
		for _, e := range set.Exclusions {
			p.exclusions = append(p.exclusions, e.Pods.Weight(g))
		}
		for _, h := range set.Spread {
			p.spread = append(p.spread, bit(h.Counted.Has(p.node) && h.Matches(g.Shape)))
		}
		p.affinity = bit(set.Affinity != nil && set.Affinity.Matches(g.Shape))
	}
}

// remove removes one replica from the counts.
func (r *replicaRules) remove(p *spot) {
	for i, e := range r.Exclusions {
		e.Add(p.node, -p.exclusions[i])
	}
	for i, h := range r.Spread {
		h.Add(p.node, -p.spread[i])
	}
	if p.affinity > 0 {
		r.Affinity.Add(p.node, -1)
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
				h.AllowsOver(minimum, h.Counts()[d]-p.spread[i]) && !h.AllowsOver(minimum-1, h.Counts()[d]-p.spread[i]) {
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
	return h.Minimum() - p.spread[constraint]
}

// broken returns the rules that reject a replica where it is, and the number of their plugins.
func (r *replicaRules) broken(p *spot) (rules []verdict.PodRule, plugins int) {
	add := func(id verdict.PodRule) {
		if !slices.ContainsFunc(rules, func(other verdict.PodRule) bool { return other.Plugin == id.Plugin }) {
			plugins++
		}
		rules = append(rules, id)
	}
	exclusions := func(byNode bool) {
		for i, e := range r.Exclusions {
			if (e.Column == nil) == byNode && !e.Allows(p.node, p.exclusions[i]) {
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
			add(verdict.PodRule{Plugin: verdict.NodeResourcesFit, Resource: need.Resource})
		}
	}
	for i, h := range r.Spread {
		d := h.Column.Domain[p.node]
		if d == topology.None || !h.AllowsOver(r.minimumWithout(p, i), h.Counts()[d]-p.spread[i]) {
			add(h.ID)
		}
	}
	exclusions(false)
	if r.Affinity != nil && !r.Affinity.FirstWithout(p.node, p.affinity) {
		for i := range r.Affinity.Terms {
			if t := &r.Affinity.Terms[i]; !t.MatchedWithout(p.node, p.affinity) {
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
	if p.affinity == 0 || r.Affinity.Matched() <= 2 {
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
