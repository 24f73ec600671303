// Package podtopologyspread keeps the numbers of matching pods per topology domain alike: hard constraints filter, soft
// ones score (pkg/scheduler/framework/plugins/podtopologyspread, v1.37).
package podtopologyspread

import (
	"github.com/stowage-scheduler/stowage/engine/api"
	"github.com/stowage-scheduler/stowage/engine/internal/cluster"
	"github.com/stowage-scheduler/stowage/engine/internal/nodeset"
	"github.com/stowage-scheduler/stowage/engine/internal/plugin"
	"github.com/stowage-scheduler/stowage/engine/internal/selector"
	"github.com/stowage-scheduler/stowage/engine/internal/topology"
)

// HostnameKey is the topology key that soft constraints count per node instead of per value.
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

// constraints returns the pod's hard or soft constraints. Only a pod that has none of either kind has the default ones,
// and only if something selects it. There are none where kube-scheduler cannot parse them.
func constraints(c *plugin.Cycle, soft bool) []constraint {
	own := c.Pod.Spec().Spread
	if len(own) > 0 {
		if parseError(c.Pod.Spec(), soft) != "" {
			return nil
		}
		return compile(c, own, soft, nil)
	}
	stated := c.Profile.DefaultSpread
	if c.Profile.SystemDefaultSpread {
		stated = systemDefaults
	}
	compiled := compile(c, stated, soft, &selector.Selector{})
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

func compile(c *plugin.Cycle, stated []api.TopologySpreadConstraint, soft bool, selects *selector.Selector) []constraint {
	var out []constraint
	for i := range stated {
		s := &stated[i]
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

// withAllKeys returns the nodes that have every constraint's topology key.
func withAllKeys(n int, cs []constraint) nodeset.Set {
	set := nodeset.Full(n)
	for i := range cs {
		set.And(cs[i].column.Having)
	}
	return set
}

// included returns the nodes of in that the constraint's inclusion policies let count.
func (k *constraint) included(c *plugin.Cycle, in nodeset.Set) nodeset.Set {
	if !k.IgnoreNodeAffinity {
		in = plugin.Both(in, c.Required)
	}
	if k.HonorNodeTaints {
		in = plugin.Both(in, c.Tolerated)
	}
	return in
}

// some returns a set of nodes, nil if that is all of them.
func some(c *plugin.Cycle, nodes nodeset.Set) nodeset.Set {
	if nodes.Full(c.State.Len()) {
		return nil
	}
	return nodes
}

// count returns how many pods that count are on some nodes, by domain.
func (k *constraint) count(c *plugin.Cycle, in nodeset.Set) []int64 {
	return topology.Count(k.column, k.matching(c), some(c, in))
}

// matching returns the pods that count.
func (k *constraint) matching(c *plugin.Cycle) []topology.Members {
	if k.selector.Empty() {
		return nil
	}
	var members []topology.Members
	for _, g := range c.State.Selectable(k.selector) {
		if k.matches(c, g) {
			members = append(members, g.Members)
		}
	}
	return members
}

// matches reports whether a group's pods count: of the pod's own namespace, not terminating, selected. An empty selector
// counts none (common.go countPodsMatchSelector).
func (k *constraint) matches(c *plugin.Cycle, g *cluster.Group) bool {
	return g.Namespace == c.Pod.Namespace && !g.Terminating && !k.selector.Empty() && k.selector.Matches(g.Labels)
}
