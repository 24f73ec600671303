// Package joint places a group of pods as a whole. At the end every required rule holds: each pod's node would be feasible
// if that pod were the last to be placed.
//
// The search is complete: within its budget it finds such a placement or proves that there is none. A topology key divides
// the nodes into cells, unless no domain has more than one node for the group, as with the host name. The search assigns
// the pods to cells, one pod a step. After each step it checks whether the rules on the dividing keys can still hold, and
// whether each cell has nodes for its pods: it packs the pods of a cell into bins, one bin for a node, and matches the
// bins to nodes.
//
// The search skips what is equivalent. Nodes of a cell that the rules treat alike form a class. Of equivalent domains
// without pods of the group it tries one, and of equal pods one order.
//
// The arithmetic of the rules is in package rule. The search adds its pods to forks of spread constraints and affinity
// terms, so one search does not see the pods of another.
package joint

import (
	"slices"

	"github.com/stowage-scheduler/stowage/engine/internal/cluster"
	"github.com/stowage-scheduler/stowage/engine/internal/nodeset"
	"github.com/stowage-scheduler/stowage/engine/internal/rule"
	"github.com/stowage-scheduler/stowage/engine/verdict"
)

// Replicas are equal pods. The rules of all replicas of a group are compiled against one state, without the group's pods.
type Replicas struct {
	Pod   *cluster.Pending
	Rules *rule.Set
	Count int
	Entry int // for naming rules
	// Unplaceable are rules that no node satisfies.
	Unplaceable []verdict.PodRule
}

// Group is a group of pods and the rules of its pods.
type Group struct {
	// Rules are all rules, in a fixed order.
	Rules []verdict.PodRule

	nodes      int
	pods       int
	candidates nodeset.Set
	replicas   []replicas
	resources  []resource
}

// replicas are equal pods with their rules, but for those about resources.
type replicas struct {
	count      int
	limits     []limit
	spread     []spread
	affinity   *affinity // nil without terms
	exclusions []exclusion
}

// index is the place of a rule in Group.Rules.
type index int

func (i index) in(rules []bool) bool { return rules[i] }

// limit is a rule that does not depend on where the group's pods go.
type limit struct {
	index
	rejected nodeset.Set
}

// exclusion is an exclusion between pods of the group.
type exclusion struct {
	index
	*rule.Exclusion
	excludes []bool // by replicas
}

// spread is a hard spread constraint.
type spread struct {
	index
	*rule.Spread
	matches []bool // by replicas
}

// affinity is the required affinity terms.
type affinity struct {
	*rule.Affinity
	rules   []index // by term
	matches []bool  // by replicas: whether the pods match all terms
}

// inGroup reports whether pods of the group match the terms.
func (a *affinity) inGroup() bool { return slices.Contains(a.matches, true) }

// NewGroup returns a group in a cluster with a number of nodes. Its pods may go to the candidates.
func NewGroup(nodes int, members []Replicas, candidates nodeset.Set) *Group {
	g := &Group{nodes: nodes, candidates: candidates, replicas: make([]replicas, len(members))}
	for i, m := range members {
		g.pods += m.Count
		g.replicas[i] = g.compile(members, i)
	}
	for i := range g.resources {
		g.resources[i].findSums(g.replicas)
	}
	return g
}

func (g *Group) number(id verdict.PodRule, entry int) index {
	id.Entry = entry
	g.Rules = append(g.Rules, id)
	return index(len(g.Rules) - 1)
}

func (g *Group) compile(members []Replicas, i int) replicas {
	m := members[i]
	r := replicas{count: m.Count}
	limited := func(id verdict.PodRule, rejected nodeset.Set) index {
		l := limit{g.number(id, m.Entry), rejected}
		r.limits = append(r.limits, l)
		return l.index
	}
	those := func(match func(*cluster.Pending) bool) []bool {
		matches := make([]bool, len(members))
		for i := range members {
			matches[i] = match(members[i].Pod)
		}
		return matches
	}
	exclude := func(e *rule.Exclusion) {
		switch {
		case e.Excludes != nil:
			r.exclusions = append(r.exclusions, exclusion{limited(e.ID, e.Rejected()), e, those(e.Excludes)})
		case !e.Rejected().Empty():
			limited(e.ID, e.Rejected())
		}
	}
	for _, id := range m.Unplaceable {
		limited(id, nodeset.Full(g.nodes))
	}
	for _, s := range m.Rules.StaticByID() {
		limited(s.ID, s.Rejected)
	}
	m.Rules.EachExclusion(true, exclude)
	for _, n := range m.Rules.Fit.Needs() {
		id := verdict.PodRule{Plugin: verdict.NodeResourcesFit, Resource: n.Resource}
		g.resource(n, len(members)).need(i, n.Amount, g.number(id, m.Entry))
	}
	for _, s := range m.Rules.Spread {
		matches := those(func(p *cluster.Pending) bool { return s.Matches(p.Shape) })
		r.spread = append(r.spread, spread{g.number(s.ID, m.Entry), s.Count(), matches})
	}
	if a := m.Rules.Affinity; a != nil {
		r.affinity = &affinity{Affinity: a.Count()}
		r.affinity.matches = those(func(p *cluster.Pending) bool { return a.Matches(p.Shape) })
		for _, t := range a.Terms {
			r.affinity.rules = append(r.affinity.rules, g.number(t.ID, m.Entry))
		}
	}
	m.Rules.EachExclusion(false, exclude)
	return r
}

// without returns the group without some rules, which keep their numbers.
func (g *Group) without(rules []bool) *Group {
	if !slices.Contains(rules, true) {
		return g
	}
	w := *g
	w.replicas, w.resources = slices.Clone(g.replicas), nil
	for i := range w.replicas {
		r := &w.replicas[i]
		r.limits, r.spread, r.exclusions = without(r.limits, rules), without(r.spread, rules), without(r.exclusions, rules)
		r.affinity = r.affinity.without(rules)
	}
	for _, x := range g.resources {
		if x = x.without(rules); slices.ContainsFunc(x.rules, index.exists) {
			w.resources = append(w.resources, x)
		}
	}
	return &w
}

func without[T interface{ in(rules []bool) bool }](all []T, rules []bool) []T {
	return slices.DeleteFunc(slices.Clone(all), func(r T) bool { return r.in(rules) })
}

func (a *affinity) without(rules []bool) *affinity {
	if a == nil || !slices.ContainsFunc(a.rules, func(i index) bool { return i.in(rules) }) {
		return a
	}
	w := &affinity{rules: without(a.rules, rules), matches: a.matches}
	if len(w.rules) == 0 {
		return nil
	}
	w.Affinity = a.Only(func(term int) bool { return !a.rules[term].in(rules) })
	return w
}
