package podtopologyspread

import (
	"cmp"
	"slices"

	"github.com/stowage-scheduler/stowage/engine/internal/nodeset"
	"github.com/stowage-scheduler/stowage/engine/internal/plugin"
	"github.com/stowage-scheduler/stowage/engine/internal/topology"
	"github.com/stowage-scheduler/stowage/engine/verdict"
)

// Counts returns what each constraint counted, in the order of the pod's constraints, and whether that is all of it. f
// is nil if there are no hard ones.
func Counts(c *plugin.Cycle, f *Filter) (out []verdict.TopologyCounts, complete bool) {
	complete = true
	add := func(t verdict.TopologyCounts) {
		if complete {
			complete = plugin.Explained(c.State, &t)
			out = append(out, t)
		}
	}
	if f != nil {
		hards := make([]constraint, len(f.constraints))
		for i := range hards {
			hards[i] = f.constraints[i].constraint
		}
		eligible := withAllKeys(c.State.Len(), hards)
		for _, h := range count(c, match(c, hards), eligible) {
			add(h.explain(c, eligible))
		}
	}
	softs := constraints(c, true)
	eligible := scorable(c, softs)
	for i := range softs {
		add(explainSoft(c, &softs[i], eligible))
	}
	slices.SortStableFunc(out, func(a, b verdict.TopologyCounts) int { return cmp.Compare(a.Index, b.Index) })
	return out, complete
}

func (h *hard) explain(c *plugin.Cycle, eligible nodeset.Set) verdict.TopologyCounts {
	t := h.constraint.describe(c, verdict.HardSpread, eligible)
	t.Minimum, t.MinDomains = h.minimum, h.MinDomains
	nodes := h.column.Nodes(h.counted)
	for d, present := range h.present {
		if !present {
			continue
		}
		t.Domains = append(t.Domains, verdict.DomainCount{
			Value:    c.State.Symbols.Name(h.column.Values[d]),
			Matching: h.counts[d],
			Skew:     h.counts[d] - h.minimum,
			Feasible: h.skewWithPod(d) <= int64(h.MaxSkew),
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

// describe returns what hard and soft constraints have in common: the constraint, and which nodes it leaves out.
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
