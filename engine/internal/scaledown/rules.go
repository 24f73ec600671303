package scaledown

import (
	"context"

	"github.com/stowage-scheduler/stowage/engine/api"
	"github.com/stowage-scheduler/stowage/engine/internal/rule"
	"github.com/stowage-scheduler/stowage/engine/internal/topology"
	"github.com/stowage-scheduler/stowage/engine/verdict"
)

// replicaRules evaluates the workload's rules for replicas where they are, while replicas are deleted.
type replicaRules struct {
	*rule.Set
	static []rule.Static
	needs  []rule.Need
	// By group: the weight of one replica for each rule. Only groups with replicas are present.
	exclusions []map[int]int64
	affinity   map[int]int64
	spread     []spreadRule
}

// spreadRule is a hard spread constraint.
type spreadRule struct {
	*rule.Spread
	of map[int]int64
	// atLimit is the number of replicas in domains that would exceed maxSkew if the minimum decreased by one.
	atLimit int
}

func (s *scaling) findRules(ctx context.Context) error {
	r := &s.rules
	r.Set = s.Rules()
	r.Count()
	r.static, r.needs = r.StaticByID(), r.Fit.Needs()
	of := func(pods *rule.Pods) map[int]int64 {
		weights := make(map[int]int64)
		for i := range s.spots {
			group := s.spots[i].Group
			if _, known := weights[group]; !known {
				weights[group] = pods.Weight(s.State.Group(group))
			}
		}
		return weights
	}
	for _, e := range r.Exclusions {
		r.exclusions = append(r.exclusions, of(&e.Pods))
	}
	if r.Affinity != nil {
		r.affinity = of(&r.Affinity.Pods)
	}
	for _, k := range r.Spread {
		r.spread = append(r.spread, spreadRule{Spread: k, of: of(&k.Pods)})
	}
	return ctx.Err()
}

// remove removes one replica from the counts.
func (r *replicaRules) remove(p *spot) {
	for i, e := range r.Exclusions {
		e.Add(p.node, -r.exclusions[i][p.Group])
	}
	if r.affinity[p.Group] > 0 {
		r.Affinity.Add(p.node, -1)
	}
	for i := range r.spread {
		if e := &r.spread[i]; e.of[p.Group] > 0 {
			e.Add(p.node, -1)
		}
	}
}

// prepare computes what disruption needs.
func (r *replicaRules) prepare(s *scaling) {
	for i := range r.spread {
		e := &r.spread[i]
		if e.atLimit = 0; e.Floor() {
			continue
		}
		minimum := e.Minimum()
		for j := range s.spots {
			p := &s.spots[j]
			if d := e.Column.Domain[p.node]; p.Count > 0 && d != topology.None &&
				e.AllowsOver(minimum, e.others(p)) && !e.AllowsOver(minimum-1, e.others(p)) {
				e.atLimit += p.Count
			}
		}
	}
}

// others returns the number of other pods that count in the domain of a replica.
func (e *spreadRule) others(p *spot) int64 {
	n := e.Counts()[e.Column.Domain[p.node]]
	if e.of[p.Group] > 0 && e.Counted.Has(p.node) {
		n--
	}
	return n
}

// without returns the minimum after the deletion of a replica.
func (e *spreadRule) without(p *spot) int64 {
	d := e.Column.Domain[p.node]
	if e.Floor() || e.of[p.Group] == 0 || !e.Counted.Has(p.node) || e.Counts()[d] != e.Minimum() {
		return e.Minimum()
	}
	return e.Minimum() - 1
}

// rejections returns how many plugins would reject a replica where it is, and passes on the rules that reject it.
func (r *replicaRules) rejections(p *spot, tell func(verdict.PodRule)) int {
	plugins := make(map[verdict.Plugin]bool)
	broken := func(rule verdict.PodRule) {
		plugins[rule.Plugin] = true
		if tell != nil {
			tell(rule)
		}
	}
	for i := range r.static {
		if r.static[i].Rejected.Has(p.node) {
			broken(r.static[i].ID)
		}
	}
	for i, e := range r.Exclusions {
		if e.Column == nil && !e.Allows(p.node, r.exclusions[i][p.Group]) {
			broken(e.ID)
		}
	}
	for i := range r.needs {
		need := &r.needs[i]
		uses := p.Uses(need.Resource)
		if need.Resource == api.ResourcePods {
			uses = 1
		}
		room := need.Room(p.node)
		// A replica uses no more than the node has.
		if need.Amount > room+min(uses, need.Allocatable(p.node)-room) {
			broken(verdict.PodRule{Plugin: verdict.NodeResourcesFit, Resource: need.Resource})
		}
	}
	for i := range r.spread {
		e := &r.spread[i]
		if e.Column.Domain[p.node] == topology.None || !e.AllowsOver(e.without(p), e.others(p)) {
			broken(e.ID)
		}
	}
	for i, e := range r.Exclusions {
		if e.Column != nil && !e.Allows(p.node, r.exclusions[i][p.Group]) {
			broken(e.ID)
		}
	}
	if r.Affinity != nil && !r.Affinity.FirstWithout(p.node, r.affinity[p.Group]) {
		for i := range r.Affinity.Terms {
			if t := &r.Affinity.Terms[i]; !t.MatchedWithout(p.node, r.affinity[p.Group]) {
				broken(t.ID)
			}
		}
	}
	return len(plugins)
}

// disruption returns how many replicas would be rejected where they are because of the deletion of one.
func (r *replicaRules) disruption(p *spot) int {
	disruption := 0
	for i := range r.spread {
		if e := &r.spread[i]; e.without(p) < e.Minimum() {
			disruption = max(disruption, e.atLimit)
		}
	}
	if r.affinity[p.Group] == 0 || r.Affinity.Matched() <= 2 {
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
