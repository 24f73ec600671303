// Package joint finds a placement of a group of pods in which every required rule holds at the end: each pod's node would
// be accepted if that pod were the last to be placed, all the others being where they go.
//
// The search is complete: unless it is stopped it finds such a placement, or has proven that there is none. Nodes that no
// rule of the group can tell apart are not tried one by one. A topology key under which every node where pods may go is a
// domain of its own, like the host name, does not divide the nodes; all other keys do, into cells. First the pods are
// spread over the cells, with the rules on those keys looking ahead; of untouched domains that are alike only one is
// tried, and of equal pods only one order. The pods of a cell are then divided into those that share a node, and each such
// lot is matched to a node of its own.
package joint

import (
	"slices"

	"github.com/stowage-scheduler/stowage/engine/internal/cluster"
	"github.com/stowage-scheduler/stowage/engine/internal/nodeset"
	"github.com/stowage-scheduler/stowage/engine/internal/rule"
	"github.com/stowage-scheduler/stowage/engine/internal/topology"
	"github.com/stowage-scheduler/stowage/engine/verdict"
)

// Replicas is equal pods. The rules of all replicas of a group are compiled against one state, in which none of them is
// placed.
type Replicas struct {
	Pod   *cluster.Pending
	Rules *rule.Set
	Count int
	Entry int // for naming rules
	// Unplaceable are rules that no node satisfies.
	Unplaceable []verdict.JointRule
}

// Group is a group of pods and the rules that are to hold for it.
type Group struct {
	// Rules are all rules, in a fixed order.
	Rules []verdict.JointRule

	nodes    int
	pods     int
	replicas []replicas
}

// replicas is equal pods with their rules.
type replicas struct {
	count  int
	limits []limit
	needs  []need
	apart  []apart
	with   []with
	// wanted says, by replicas, which match all affinity terms; helped whether any does, self whether these do.
	wanted       []bool
	helped, self bool
	even         []even
}

// limit is a rule that looks at nodes and at the pods that are on them already.
type limit struct {
	rule    int
	allowed nodeset.Set
}

// need is an amount of a resource.
type need struct {
	rule int
	rule.Need
}

// apart is an exclusion between pods of the group.
type apart struct {
	rule   int
	key    string
	column *topology.Column // nil: each node is a domain
	from   []bool           // by replicas
}

// together reports whether two nodes are in one domain.
func (a *apart) together(m, n uint32) bool {
	if a.column == nil {
		return m == n
	}
	d := a.column.Domain[m]
	return d != topology.None && d == a.column.Domain[n]
}

// with is an affinity term.
type with struct {
	rule      int
	key       string
	column    *topology.Column
	inhabited []bool // by domain: those with pods that the terms match
}

// even is a hard spread constraint.
type even struct {
	rule int
	*rule.Spread
	matches []bool // by replicas: those that count
}

// NewGroup finds the rules of a group in a cluster of a number of nodes. Candidates are those that its pods may go to.
func NewGroup(nodes int, members []Replicas, candidates nodeset.Set) *Group {
	g := &Group{nodes: nodes, replicas: make([]replicas, len(members))}
	for i, m := range members {
		g.pods += m.Count
		g.replicas[i] = g.compile(members, i, candidates)
	}
	return g
}

func (g *Group) rule(r verdict.JointRule) int {
	g.Rules = append(g.Rules, r)
	return len(g.Rules) - 1
}

func (g *Group) compile(members []Replicas, i int, candidates nodeset.Set) replicas {
	m := members[i]
	r := replicas{count: m.Count, limits: []limit{{noRule, candidates}}}
	limited := func(id verdict.JointRule, rejected nodeset.Set) {
		id.Entry = m.Entry
		r.limits = append(r.limits, limit{g.rule(id), nodeset.Full(g.nodes).Minus(rejected)})
	}
	for _, id := range m.Unplaceable {
		limited(id, nodeset.Full(g.nodes))
	}
	for _, s := range m.Rules.StaticByID() {
		limited(s.ID, s.Rejected)
	}
	exclude := func(e *rule.Exclusion) {
		if e.Excludes == nil {
			if !e.Rejected().Empty() {
				limited(e.ID, e.Rejected())
			}
			return
		}
		limited(e.ID, e.Rejected())
		a := apart{rule: len(g.Rules) - 1, key: e.ID.TopologyKey, column: e.Column}
		for _, other := range members {
			a.from = append(a.from, e.Excludes(other.Pod))
		}
		r.apart = append(r.apart, a)
	}
	m.Rules.EachExclusion(true, exclude)
	for _, n := range m.Rules.Fit.Needs() {
		id := verdict.JointRule{Entry: m.Entry, Plugin: verdict.NodeResourcesFit, Resource: n.Resource}
		r.needs = append(r.needs, need{g.rule(id), n})
	}
	for _, s := range m.Rules.Spread {
		e := even{Spread: s.Count(), rule: g.ruleOf(s.ID, m.Entry)}
		for _, other := range members {
			e.matches = append(e.matches, s.Matches(other.Pod.Shape))
		}
		r.even = append(r.even, e)
	}
	g.addAffinity(&r, members, m)
	m.Rules.EachExclusion(false, exclude)
	return r
}

// noRule is the rule of what cannot be given up.
const noRule = -1

func (g *Group) ruleOf(id verdict.JointRule, entry int) int {
	id.Entry = entry
	return g.rule(id)
}

func (g *Group) addAffinity(r *replicas, members []Replicas, m Replicas) {
	a := m.Rules.Affinity
	r.wanted = make([]bool, len(members))
	if a == nil {
		return
	}
	for i, other := range members {
		r.wanted[i] = a.Matches(other.Pod.Shape)
	}
	r.self = a.Self
	r.helped = slices.Contains(r.wanted, true)
	for i := range a.Count().Terms {
		t := &a.Terms[i]
		inhabited := make([]bool, len(t.Counts))
		for d, n := range t.Counts {
			inhabited[d] = n > 0
		}
		r.with = append(r.with, with{g.ruleOf(t.ID, m.Entry), t.ID.TopologyKey, t.Column, inhabited})
	}
}
