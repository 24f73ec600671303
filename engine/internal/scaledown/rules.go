package scaledown

import (
	"context"

	"github.com/stowage-scheduler/stowage/engine/api"
	"github.com/stowage-scheduler/stowage/engine/internal/rule"
	"github.com/stowage-scheduler/stowage/engine/internal/topology"
	"github.com/stowage-scheduler/stowage/engine/verdict"
)

// replicaRules tells which replicas would be refused where they are, as replicas are deleted.
type replicaRules struct {
	*rule.Set
	static []rule.Static
	needs  []rule.Need
	// What one replica of a group counts for each rule. Groups without replicas are not there.
	exclusions []map[int]int64
	affinity   map[int]int64
	spread     []evenRule
}

// evenRule is a hard spread constraint.
type evenRule struct {
	*rule.Spread
	of map[int]int64
	// limit is how many replicas are in domains that would exceed maxSkew if the minimum were one less.
	limit int
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
		r.spread = append(r.spread, evenRule{Spread: k, of: of(&k.Pods)})
	}
	return ctx.Err()
}

// remove takes one replica out of the counts.
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

// prepare finds what harm looks up.
func (r *replicaRules) prepare(s *scaling) {
	for i := range r.spread {
		e := &r.spread[i]
		if e.limit = 0; e.Floor() {
			continue
		}
		minimum := e.Minimum()
		for j := range s.spots {
			p := &s.spots[j]
			if d := e.Column.Domain[p.node]; p.Count > 0 && d != topology.None && e.skew(p, minimum) <= e.MaxSkew &&
				e.skew(p, minimum-1) > e.MaxSkew {
				e.limit += p.Count
			}
		}
	}
}

// skew returns by how much a replica's domain exceeds a minimum.
func (e *evenRule) skew(p *spot, minimum int64) int64 {
	n := e.Counts()[e.Column.Domain[p.node]] - minimum
	if e.of[p.Group] > 0 && e.Counted.Has(p.node) {
		n--
	}
	if e.SelfMatch {
		n++
	}
	return n
}

// without returns the minimum if a replica were gone.
func (e *evenRule) without(p *spot) int64 {
	d := e.Column.Domain[p.node]
	if e.Floor() || e.of[p.Group] == 0 || !e.Counted.Has(p.node) || e.Counts()[d] != e.Minimum() {
		return e.Minimum()
	}
	return e.Minimum() - 1
}

// failing returns how many plugins would refuse a replica where it is, if it came there now, and tells the rules.
func (r *replicaRules) failing(p *spot, tell func(verdict.JointRule)) int {
	plugins := make(map[verdict.Plugin]bool)
	broken := func(rule verdict.JointRule) {
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
		// What a node does not have is not used up there.
		if need.Amount > room+min(uses, need.Allocatable(p.node)-room) {
			broken(verdict.JointRule{Plugin: verdict.NodeResourcesFit, Resource: need.Resource})
		}
	}
	for i := range r.spread {
		e := &r.spread[i]
		if e.Column.Domain[p.node] == topology.None || e.skew(p, e.without(p)) > e.MaxSkew {
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

// harm returns how many replicas would be refused where they are because one is gone, and are not otherwise.
func (r *replicaRules) harm(p *spot) int {
	harm := 0
	for i := range r.spread {
		if e := &r.spread[i]; e.without(p) < e.Minimum() {
			harm = max(harm, e.limit)
		}
	}
	if r.affinity[p.Group] == 0 || r.Affinity.Matched() <= 2 {
		return harm
	}
	for i := range r.Affinity.Terms {
		// The last but one leaves the last alone.
		t := &r.Affinity.Terms[i]
		if d := t.Column.Domain[p.node]; d != topology.None && t.Counts[d] == 2 {
			harm = max(harm, 1)
		}
	}
	return harm
}
