// Package podtopologyspread implements topology spread constraints: hard constraints (DoNotSchedule) filter, soft ones
// (ScheduleAnyway) score (pkg/scheduler/framework/plugins/podtopologyspread, v1.37).
package podtopologyspread

import (
	"slices"

	"github.com/stowage-scheduler/stowage/engine/api"
	"github.com/stowage-scheduler/stowage/engine/internal/cluster"
	"github.com/stowage-scheduler/stowage/engine/internal/nodeset"
	"github.com/stowage-scheduler/stowage/engine/internal/plugin"
	"github.com/stowage-scheduler/stowage/engine/internal/rule"
	"github.com/stowage-scheduler/stowage/engine/internal/selector"
	"github.com/stowage-scheduler/stowage/engine/internal/topology"
)

// HostnameKey is the topology key whose soft constraints count by node instead of by value.
const HostnameKey = "kubernetes.io/hostname"

var systemDefaults = []api.TopologySpreadConstraint{
	{TopologyKey: HostnameKey, MaxSkew: 3, MinDomains: 1, ScheduleAnyway: true},
	{TopologyKey: "topology.kubernetes.io/zone", MaxSkew: 5, MinDomains: 1, ScheduleAnyway: true},
}

// constraint is a compiled constraint.
type constraint struct {
	*api.TopologySpreadConstraint
	index    int // in the pod's constraints, or in the default ones
	selector *selector.Selector
	column   *topology.Column
}

// constraints returns the pod's hard or soft constraints. A pod without constraints of either kind has the default ones
// if some workload selects it. There are none where kube-scheduler cannot parse them.
func constraints(c *plugin.Cycle, soft bool) []constraint {
	own := c.Pod.Spec().Spread
	if len(own) > 0 {
		if parseError(c.Pod.Spec(), soft) != "" {
			return nil
		}
		return compile(c, own, soft, nil)
	}
	defaults := c.Profile.DefaultSpread
	if c.Profile.SystemDefaultSpread {
		defaults = systemDefaults
	}
	compiled := compile(c, defaults, soft, &selector.Selector{})
	if len(compiled) == 0 {
		return nil
	}
	selects := c.State.DefaultSelector(c.Pod.Shape, c.Pod.Template.Controller)
	if selects.Empty() {
		return nil
	}
	for i := range compiled {
		compiled[i].selector = selects
	}
	return compiled
}

// HonorsTaints reports whether a constraint that the pod has, or may have by default, counts pods by the taints of their nodes.
func HonorsTaints(c *plugin.Cycle) bool {
	honors := func(s api.TopologySpreadConstraint) bool { return s.HonorNodeTaints }
	return slices.ContainsFunc(c.Pod.Spec().Spread, honors) || slices.ContainsFunc(c.Profile.DefaultSpread, honors)
}

func compile(c *plugin.Cycle, specs []api.TopologySpreadConstraint, soft bool, selects *selector.Selector) []constraint {
	var out []constraint
	for i := range specs {
		s := &specs[i]
		if s.ScheduleAnyway != soft {
			continue
		}
		compiled := constraint{TopologySpreadConstraint: s, index: i, selector: selects}
		compiled.column = c.State.Column(c.State.Symbols.Intern(s.TopologyKey))
		if selects == nil {
			compiled.selector = selector.CompileSelector(c.State.Symbols, s.LabelSelector).
				WithKeys(c.State.Symbols, s.MatchLabelKeys, api.In, c.Pod.Shape.Labels)
		}
		out = append(out, compiled)
	}
	return out
}

// withAllKeys returns the nodes that have the topology keys of all constraints.
func withAllKeys(n int, cs []constraint) nodeset.Set {
	set := nodeset.Full(n)
	for i := range cs {
		set.And(cs[i].column.Having)
	}
	return set
}

// included returns the nodes of in that the inclusion policies include.
func (k *constraint) included(c *plugin.Cycle, in nodeset.Set) nodeset.Set {
	if !k.IgnoreNodeAffinity {
		in = plugin.Both(in, c.Required)
	}
	if k.HonorNodeTaints {
		in = plugin.Both(in, c.Tolerated)
	}
	return in
}

// some returns a set of nodes, nil for all.
func some(c *plugin.Cycle, nodes nodeset.Set) nodeset.Set {
	if nodes.Full(c.State.Len()) {
		return nil
	}
	return nodes
}

// count returns the number of matching pods on nodes, by domain.
func (k *constraint) count(c *plugin.Cycle, in nodeset.Set) []int64 {
	return topology.Count(k.column, k.matching(c), some(c, in))
}

// Pods returns the matching pods.
func (k *constraint) Pods(c *plugin.Cycle) rule.Pods {
	groups := func(yield func(int, *cluster.Group) bool) {
		if !k.selector.Empty() {
			c.State.Selectable(k.selector)(yield)
		}
	}
	return rule.Matching(groups, func(g *cluster.Group) bool { return k.Matches(c, g) })
}

// matching returns the matching pods by group.
func (k *constraint) matching(c *plugin.Cycle) []topology.Members {
	pods := k.Pods(c)
	return pods.Members()
}

// Matches reports whether a group's pods match: in the pod's namespace, not terminating, selected. An empty selector
// matches none (common.go countPodsMatchSelector).
func (k *constraint) Matches(c *plugin.Cycle, g *cluster.Group) bool {
	return g.Namespace == c.Pod.Namespace && !g.Terminating && !k.selector.Empty() && k.selector.Matches(g.Labels)
}
