package interpodaffinity

import (
	"cmp"
	"slices"

	"github.com/stowage-scheduler/stowage/engine/internal/plugin"
	"github.com/stowage-scheduler/stowage/engine/internal/rule"
	"github.com/stowage-scheduler/stowage/engine/internal/topology"
	"github.com/stowage-scheduler/stowage/engine/verdict"
)

// explain adds the counts of each required term: the pod's affinity terms, its anti-affinity terms, and by topology key
// the anti-affinity terms of existing pods that select the pod.
func explain(c *plugin.Cycle, x *plugin.Explaining) {
	if a := x.Rules.Affinity; a != nil {
		for i := range a.Count().Terms {
			if x.Truncated {
				return
			}
			counts := describe(c, a.Terms[i].ID, a.Terms[i].Column, a.Terms[i].Counts)
			x.Truncated = !plugin.Explained(c.State, &counts)
			counts.Selector = c.Pod.Affinity[i].Selector.Text(c.State.Symbols)
			counts.SelfMatch = a.Self
			for d := range counts.Domains {
				counts.Domains[d].Feasible = counts.Domains[d].Matching > 0 || a.First()
			}
			x.Topology = append(x.Topology, counts)
		}
	}
	for _, e := range x.Rules.Exclusions {
		if x.Truncated {
			return
		}
		counts := describe(c, e.ID, e.Column, e.Counts())
		if e.ID.Rule == verdict.PodAntiAffinity {
			counts.Selector = c.Pod.AntiAffinity[e.ID.Index].Selector.Text(c.State.Symbols)
		}
		x.Truncated = !inTheWay(c, e, &counts)
		x.Topology = append(x.Topology, counts)
	}
}

func describe(c *plugin.Cycle, id verdict.PodRule, column *topology.Column, counts []int64) verdict.TopologyCounts {
	return verdict.TopologyCounts{
		Rule: id.Rule, Index: id.Index, TopologyKey: id.TopologyKey,
		Domains: plugin.Domains(c.State, column, column.Having, func(domain int, d *verdict.DomainCount) {
			d.Matching, d.Feasible = counts[domain], counts[domain] == 0
		}),
	}
}

// inTheWay cuts counts to the budget, lists the conflicting pods of infeasible domains in order of their nodes, and
// reports whether the list is complete.
func inTheWay(c *plugin.Cycle, e *rule.Exclusion, t *verdict.TopologyCounts) bool {
	complete := plugin.Explained(c.State, t)
	type place struct {
		node  uint32
		group int
	}
	column := e.Column
	places := make([][]place, column.Len())
	for i, g := range e.Pods.Groups {
		for n := range g.All() {
			d := column.Domain[n]
			places[d] = append(places[d], place{n, i})
		}
	}
	for i := range t.Domains {
		d := &t.Domains[i]
		if d.Feasible {
			continue
		}
		in := places[column.Domain[d.Nodes[0]]]
		slices.SortFunc(in, func(a, b place) int {
			if a.node != b.node {
				return cmp.Compare(a.node, b.node)
			}
			return c.State.CompareOn(a.node, a.group, b.group)
		})
		for _, p := range slices.Compact(in) {
			room := verdict.MaxConflictingPods - len(d.Conflicting)
			if room == 0 {
				break
			}
			pods := c.State.ConflictingPods(p.node, p.group, room)
			if !c.State.Explain(verdict.EntryCost * len(pods)) {
				return false
			}
			d.Conflicting = append(d.Conflicting, pods...)
		}
	}
	return complete
}
