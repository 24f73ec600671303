// Package joint places a group of pods as a whole. All required rules hold for the complete group: each pod's node is
// feasible for the pod with all other pods in place.
//
// The search is complete: within its budget it finds a placement or proves that none exists. A topology key divides
// the nodes into cells, unless each domain has at most one usable node, as with the hostname. The search assigns one pod
// to a cell at each step. It then checks whether the rules on the dividing keys can still hold, and whether the nodes of
// each cell have room: it packs the pods of a cell into bins, one bin for a node, and matches the bins to nodes.
//
// The search skips equivalent placements. Nodes of a cell that all rules treat alike form a class. It tries one of several
// equivalent domains without pods of the group, and one order of equal pods.
//
// The arithmetic of the rules is in package rule. The search adds its pods to forks of spread constraints and affinity
// terms, so one search does not see the pods of another.
package joint

import (
	"math"
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
	members    []Replicas
	candidates nodeset.Set
	matches    map[any][]bool // by rule: the members that it counts or excludes
	dropped    []bool         // by Rules; nil for none
	replicas   []replicas
	resources  []resource
}

// replicas are equal pods with their rules, except for rules about resources.
type replicas struct {
	count      int
	limits     []nodeset.Set // nodes rejected by rules that do not depend on the group's pods
	spread     []spread
	affinity   *affinity // nil without terms
	exclusions []exclusion
	others     []other
}

// exclusion is an exclusion between pods of the group.
type exclusion struct {
	*rule.Exclusion
	excludes []bool // by replicas
}

// spread is a hard spread constraint.
type spread struct {
	*rule.Spread
	matches []bool // by replicas
}

// affinity is the required affinity terms.
type affinity struct {
	*rule.Affinity
	matches []bool // by replicas: whether the pods match all terms
}

// other is a rule of a kind that its plugin defines, and that counts pods of the group.
type other struct {
	rule.Kind
	weights []int64 // by replicas
}

// excess returns the excess of a node that the pods of the group are added to. It is the lowest number for a node whose domain
// they do not count in.
func (o *other) excess(node uint32) int64 {
	e := o.Excess(node, 0)
	if _, in := o.Domain(node); !in && e <= 0 {
		return math.MinInt64
	}
	return e
}

// inGroup reports whether pods of the group match the terms.
func (a *affinity) inGroup() bool { return slices.Contains(a.matches, true) }

// NewGroup returns a group in a cluster with a number of nodes. Its pods may go to the candidates.
func NewGroup(nodes int, members []Replicas, candidates nodeset.Set) *Group {
	return (&Group{nodes: nodes, members: members, candidates: candidates, matches: make(map[any][]bool)}).without(nil)
}

// Within returns the group with other candidates.
func (g *Group) Within(candidates nodeset.Set) *Group {
	return NewGroup(g.nodes, g.members, candidates)
}

// without returns the group without some rules, by Rules.
func (g *Group) without(dropped []bool) *Group {
	w := &Group{
		nodes: g.nodes, members: g.members, candidates: g.candidates, matches: g.matches, dropped: dropped,
		replicas: make([]replicas, len(g.members)),
	}
	for _, x := range g.resources { // keep the sums, which do not depend on rules
		x.required = make([]bool, len(g.members))
		w.resources = append(w.resources, x)
	}
	for i, m := range w.members {
		w.pods += m.Count
		w.replicas[i] = w.compile(i)
	}
	w.resources = slices.DeleteFunc(w.resources, func(x resource) bool { return !slices.Contains(x.required, true) })
	for i := range w.resources {
		if x := &w.resources[i]; x.total == 0 {
			x.findSums(w.members)
		}
	}
	return w
}

// holds adds a rule to Rules and reports whether it is not dropped.
func (g *Group) holds(id verdict.PodRule, entry int) bool {
	id.Entry = entry
	g.Rules = append(g.Rules, id)
	return g.dropped == nil || !g.dropped[len(g.Rules)-1]
}

func (g *Group) compile(i int) replicas {
	m := g.members[i]
	r := replicas{count: m.Count}
	limited := func(id verdict.PodRule, rejected nodeset.Set) bool {
		holds := g.holds(id, m.Entry)
		if holds {
			r.limits = append(r.limits, rejected)
		}
		return holds
	}
	those := func(rule any, match func(*cluster.Pending) bool) []bool {
		if g.matches[rule] == nil {
			g.matches[rule] = make([]bool, len(g.members))
			for i := range g.members {
				g.matches[rule][i] = match(g.members[i].Pod)
			}
		}
		return g.matches[rule]
	}
	exclude := func(e *rule.Exclusion) {
		if e.Excludes == nil && e.Rejected().Empty() {
			return
		}
		if limited(e.ID, e.Rejected()) && e.Excludes != nil {
			r.exclusions = append(r.exclusions, exclusion{e, those(e, e.Excludes)})
		}
	}
	for _, id := range m.Unplaceable {
		limited(id, nodeset.Full(g.nodes))
	}
	for _, s := range m.Rules.StaticByID() {
		// A plugin may also have a rule for nodes that are gone by now.
		if s.Rejected.Meets(g.candidates) {
			limited(s.ID, s.Rejected)
		}
	}
	m.Rules.EachExclusion(true, exclude)
	for _, n := range m.Rules.Fit.Needs() {
		x := g.resource(n)
		x.requests[i] = n.Amount
		x.required[i] = g.holds(verdict.PodRule{Plugin: n.Plugin, Resource: n.Resource}, m.Entry)
	}
	for _, s := range m.Rules.Spread {
		if g.holds(s.ID, m.Entry) {
			r.spread = append(r.spread, spread{s.Count(), those(s, func(p *cluster.Pending) bool { return s.Matches(p.Shape) })})
		}
	}
	if a := m.Rules.Affinity; a != nil {
		held := make([]bool, len(a.Terms))
		for i, t := range a.Terms {
			held[i] = g.holds(t.ID, m.Entry)
		}
		if slices.Contains(held, true) {
			r.affinity = &affinity{
				a.Only(func(term int) bool { return held[term] }),
				those(a, func(p *cluster.Pending) bool { return a.Matches(p.Shape) }),
			}
		}
	}
	m.Rules.EachExclusion(false, exclude)
	for _, k := range m.Rules.Others {
		if o := newOther(k, g.members); limited(k.Rule(), k.Rejected()) && slices.ContainsFunc(o.weights, weighs) {
			r.others = append(r.others, o)
		}
	}
	return r
}

func newOther(k rule.Kind, members []Replicas) other {
	o := other{Kind: k.Fork(), weights: make([]int64, len(members))}
	for i := range members {
		o.weights[i] = k.Weight(&cluster.Group{Shape: members[i].Pod.Shape})
	}
	return o
}

func weighs(weight int64) bool { return weight != 0 }
