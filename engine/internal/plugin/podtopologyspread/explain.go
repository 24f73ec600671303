package podtopologyspread

import (
	"cmp"
	"slices"

	"github.com/stowage-scheduler/stowage/engine/internal/nodeset"
	"github.com/stowage-scheduler/stowage/engine/internal/plugin"
	"github.com/stowage-scheduler/stowage/engine/internal/rule"
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
	t.Domains = plugin.Domains(c.State, r.Column, r.Counted, func(domain int, d *verdict.DomainCount) {
		d.Matching, d.Skew = counts[domain], counts[domain]-r.Minimum()
		d.Feasible = r.AllowsCount(counts[domain])
	})
	return t
}

func explainSoft(c *plugin.Cycle, k *constraint, eligible nodeset.Set) verdict.TopologyCounts {
	t := k.describe(c, verdict.SoftSpread, eligible)
	counted := k.included(c, eligible)
	counts := k.count(c, counted)
	t.Domains = plugin.Domains(c.State, k.column, counted, func(domain int, d *verdict.DomainCount) {
		d.Matching, d.Feasible = counts[domain], true
	})
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
