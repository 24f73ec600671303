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

	"github.com/stowage-scheduler/stowage/engine/internal/nodeset"
	"github.com/stowage-scheduler/stowage/engine/internal/plugin"
	"github.com/stowage-scheduler/stowage/engine/internal/plugin/interpodaffinity"
	"github.com/stowage-scheduler/stowage/engine/internal/plugin/nodeaffinity"
	"github.com/stowage-scheduler/stowage/engine/internal/plugin/nodename"
	"github.com/stowage-scheduler/stowage/engine/internal/plugin/nodeports"
	"github.com/stowage-scheduler/stowage/engine/internal/plugin/noderesources"
	"github.com/stowage-scheduler/stowage/engine/internal/plugin/nodeunschedulable"
	"github.com/stowage-scheduler/stowage/engine/internal/plugin/podtopologyspread"
	"github.com/stowage-scheduler/stowage/engine/internal/plugin/schedulinggates"
	"github.com/stowage-scheduler/stowage/engine/internal/plugin/tainttoleration"
	"github.com/stowage-scheduler/stowage/engine/internal/topology"
	"github.com/stowage-scheduler/stowage/engine/verdict"
)

// Replicas is equal pods. All cycles of a group have one state, in which none of them is placed.
type Replicas struct {
	Cycle *plugin.Cycle
	Count int
	Entry int // for naming rules
	// Unplaceable are rules that no node satisfies, because kube-scheduler cannot parse the pods.
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
	count   int
	limits  []limit
	needs   []need
	clashes []bool // by replicas: those that cannot share a node
	ports   int    // the rule of clashes
	apart   []apart
	with    []with
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
	noderesources.Need
}

// apart is an anti-affinity term.
type apart struct {
	rule   int
	key    string
	column *topology.Column
	from   []bool // by replicas
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
	podtopologyspread.Constraint
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
	c := m.Cycle
	r := replicas{count: m.Count, limits: []limit{{noRule, candidates}}}
	limited := func(rule verdict.JointRule, allowed nodeset.Set) {
		rule.Entry = m.Entry
		r.limits = append(r.limits, limit{g.rule(rule), allowed})
	}
	for _, rule := range m.Unplaceable {
		limited(rule, nodeset.New(g.nodes))
	}
	if _, held := schedulinggates.Held(c.Pod.Spec()); held {
		limited(verdict.JointRule{Plugin: verdict.SchedulingGates}, nodeset.New(g.nodes))
	}
	for _, f := range []struct {
		plugin verdict.Plugin
		filter plugin.Filter
	}{
		{verdict.NodeName, nodename.NewFilter(c)},
		{verdict.NodeUnschedulable, nodeunschedulable.NewFilter(c)},
		{verdict.TaintToleration, tainttoleration.NewFilter(c)},
		{verdict.NodeAffinity, nodeaffinity.NewFilter(c)},
	} {
		if f.filter != nil {
			limited(verdict.JointRule{Plugin: f.plugin}, accepted(f.filter, g.nodes))
		}
	}
	if f := nodeports.NewFilter(c); f != nil {
		limited(verdict.JointRule{Plugin: verdict.NodePorts}, accepted(f, g.nodes))
		r.ports = len(g.Rules) - 1
	}
	for _, m := range members {
		r.clashes = append(r.clashes, nodeports.Clash(c.Pod.HostPorts, m.Cycle.Pod.HostPorts))
	}
	for _, n := range noderesources.NewFilter(c).Needs() {
		rule := verdict.JointRule{Entry: m.Entry, Plugin: verdict.NodeResourcesFit, Resource: n.Resource}
		r.needs = append(r.needs, need{g.rule(rule), n})
	}
	g.addSpread(&r, members, m)
	g.addTerms(&r, members, m, limited)
	return r
}

// noRule is the rule of what cannot be given up.
const noRule = -1

func (g *Group) addSpread(r *replicas, members []Replicas, m Replicas) {
	for _, h := range podtopologyspread.HardConstraints(m.Cycle) {
		k := even{Constraint: h, rule: g.rule(verdict.JointRule{
			Entry: m.Entry, Plugin: verdict.PodTopologySpread, Rule: verdict.HardSpread, Index: h.Index, TopologyKey: h.TopologyKey,
		})}
		for _, other := range members {
			k.matches = append(k.matches, h.Matches(other.Cycle.Pod.Shape))
		}
		r.even = append(r.even, k)
	}
}

func (g *Group) addTerms(r *replicas, members []Replicas, m Replicas, limited func(verdict.JointRule, nodeset.Set)) {
	c := m.Cycle
	required := interpodaffinity.NewRequired(c)
	for _, other := range members {
		r.wanted = append(r.wanted, interpodaffinity.Wants(c.Pod, other.Cycle.Pod.Shape))
	}
	r.self = interpodaffinity.Wants(c.Pod, c.Pod.Shape)
	r.helped = slices.Contains(r.wanted, true)
	rule := verdict.JointRule{Entry: m.Entry, Plugin: verdict.InterPodAffinity}
	for i, t := range c.Pod.Affinity {
		rule.Rule, rule.Index, rule.TopologyKey = verdict.PodAffinity, i, c.State.Symbols.Name(t.TopologyKey)
		r.with = append(r.with, with{g.rule(rule), rule.TopologyKey, c.State.Column(t.TopologyKey), required.Inhabited[i]})
	}
	for i, t := range c.Pod.AntiAffinity {
		rule.Rule, rule.Index, rule.TopologyKey = verdict.PodAntiAffinity, i, c.State.Symbols.Name(t.TopologyKey)
		limited(rule, nodeset.Full(g.nodes).Minus(required.Shunned[i]))
		a := apart{rule: len(g.Rules) - 1, key: rule.TopologyKey, column: c.State.Column(t.TopologyKey)}
		for _, other := range members {
			a.from = append(a.from, interpodaffinity.Avoids(c.Pod, i, other.Cycle.Pod))
		}
		r.apart = append(r.apart, a)
	}
	if required.Blocked != nil {
		limited(verdict.JointRule{Plugin: verdict.InterPodAffinity, Rule: verdict.ExistingPodAntiAffinity},
			nodeset.Full(g.nodes).Minus(required.Blocked))
	}
}

func accepted(f plugin.Filter, nodes int) nodeset.Set {
	all := nodeset.Full(nodes)
	for _, r := range f.Refuse(nodeset.Full(nodes)) {
		for _, n := range r.Nodes {
			all.Remove(n)
		}
	}
	return all
}
