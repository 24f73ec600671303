package podtopologyspread

import (
	"cmp"
	"slices"

	"github.com/stowage-scheduler/stowage/engine/internal/nodeset"
	"github.com/stowage-scheduler/stowage/engine/internal/plugin"
	"github.com/stowage-scheduler/stowage/engine/internal/rule"
	"github.com/stowage-scheduler/stowage/engine/internal/topology"
	"github.com/stowage-scheduler/stowage/engine/verdict"
)

// explain adds the counts of each constraint, in the order of the pod's constraints.
func explain(c *plugin.Cycle, x *plugin.Explaining) {
	var out []verdict.TopologyCounts
	add := func(t verdict.TopologyCounts) {
		if !x.Truncated {
			x.Truncated = !plugin.Explained(c.State, &t)
			out = append(out, t)
		}
	}
	hard := constraints(c, false)
	eligible := withAllKeys(c.State.Len(), hard)
	for i, r := range x.Rules.Spread {
		add(explainHard(c, &hard[i], r, eligible))
	}
	soft := constraints(c, true)
	eligible = scorable(c, soft)
	for i := range soft {
		add(explainSoft(c, &soft[i], eligible))
	}
	slices.SortStableFunc(out, func(a, b verdict.TopologyCounts) int { return cmp.Compare(a.Index, b.Index) })
	x.Topology = append(x.Topology, out...)
}

func explainHard(c *plugin.Cycle, k *constraint, r *rule.Spread, eligible nodeset.Set) verdict.TopologyCounts {
	t := k.describe(c, verdict.HardSpread, eligible)
	counts := r.Counts()
	t.Minimum, t.MinDomains = r.Minimum(), k.MinDomains
	nodes := r.Column.Nodes(r.Counted)
	for d, present := range r.Present() {
		if !present {
			continue
		}
		t.Domains = append(t.Domains, verdict.DomainCount{
			Value:    c.State.Symbols.Name(r.Column.Values[d]),
			Matching: counts[d],
			Skew:     counts[d] - r.Minimum(),
			Feasible: r.AllowsCount(counts[d]),
			Nodes:    nodes[d],
		})
	}
	sortDomains(t.Domains)
	return t
}

func explainSoft(c *plugin.Cycle, k *constraint, eligible nodeset.Set) verdict.TopologyCounts {
	t := k.describe(c, verdict.SoftSpread, eligible)
	counted := k.included(c, eligible)
	counts := k.count(c, counted)
	for d, nodes := range k.column.Nodes(counted) {
		if d == topology.None || len(nodes) == 0 {
			continue
		}
		t.Domains = append(t.Domains, verdict.DomainCount{
			Value:    c.State.Symbols.Name(k.column.Values[d]),
			Matching: counts[d],
			Feasible: true,
			Nodes:    nodes,
		})
	}
	sortDomains(t.Domains)
	return t
}

// describe returns the constraint and the nodes that it does not count.
func (k *constraint) describe(c *plugin.Cycle, rule verdict.TopologyRule, eligible nodeset.Set) verdict.TopologyCounts {
	t := verdict.TopologyCounts{
		Rule:        rule,
		Index:       k.index,
		TopologyKey: k.TopologyKey,
		Selector:    k.selector.Text(c.State.Symbols),
		MaxSkew:     k.MaxSkew,
		SelfMatch:   k.selector.Matches(c.Pod.Shape.Labels),
	}
	rest := nodeset.Full(c.State.Len())
	leaveOut := func(reason verdict.UncountedReason, counted nodeset.Set) {
		if out := rest.Minus(counted); !out.Empty() {
			t.Uncounted = append(t.Uncounted, verdict.UncountedNodes{Reason: reason, Nodes: out.Indexes()})
		}
		rest = plugin.Both(rest, counted)
	}
	leaveOut(verdict.MissingTopologyKey, eligible)
	if !k.IgnoreNodeAffinity && c.Required != nil {
		leaveOut(verdict.NodeAffinityPolicy, c.Required)
	}
	if k.HonorNodeTaints && c.Tolerated != nil {
		leaveOut(verdict.NodeTaintsPolicy, c.Tolerated)
	}
	return t
}

func sortDomains(d []verdict.DomainCount) {
	slices.SortFunc(d, func(a, b verdict.DomainCount) int { return cmp.Compare(a.Value, b.Value) })
}
