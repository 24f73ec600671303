package interpodaffinity

import (
	"cmp"
	"slices"

	"github.com/stowage-scheduler/stowage/engine/internal/cluster"
	"github.com/stowage-scheduler/stowage/engine/internal/intern"
	"github.com/stowage-scheduler/stowage/engine/internal/nodeset"
	"github.com/stowage-scheduler/stowage/engine/internal/plugin"
	"github.com/stowage-scheduler/stowage/engine/internal/topology"
	"github.com/stowage-scheduler/stowage/engine/verdict"
)

// Counts returns what each required term counted: the pod's affinity terms, its anti-affinity terms, and the
// anti-affinity terms of pods on nodes that match it, in order of the topology key; and whether that is all of them.
func Counts(c *plugin.Cycle, f *plugin.Finder) (out []verdict.TopologyCounts, complete bool) {
	together := matchingAll(c)
	first := !anyMatch(c, together)
	for i := range c.Pod.Affinity {
		t := &c.Pod.Affinity[i]
		counts := describe(c, verdict.PodAffinity, i, t.TopologyKey, topology.Count(c.State.Column(t.TopologyKey), together, nil))
		complete := plugin.Explained(c.State, &counts)
		counts.Selector = t.Selector.Text(c.State.Symbols)
		counts.SelfMatch = selfMatch(c.Pod)
		for d := range counts.Domains {
			counts.Domains[d].Feasible = counts.Domains[d].Matching > 0 || first && counts.SelfMatch
		}
		if out = append(out, counts); !complete {
			return out, false
		}
	}
	for i := range c.Pod.AntiAffinity {
		t := &c.Pod.AntiAffinity[i]
		counts := describe(c, verdict.PodAntiAffinity, i, t.TopologyKey, c.State.Counts(t))
		counts.Selector = t.Selector.Text(c.State.Symbols)
		complete := inTheWay(c, f, t.TopologyKey, &counts, func(g *cluster.Group) bool {
			return t.Matches(g.Namespace, nil, g.Labels)
		})
		if out = append(out, counts); !complete {
			return out, false
		}
	}
	by := blocking(c)
	for _, i := range by.sorted() {
		key := by.keys[i]
		counts := describe(c, verdict.ExistingPodAntiAffinity, 0, key, by.counts[i])
		complete := inTheWay(c, f, key, &counts, func(g *cluster.Group) bool {
			return slices.ContainsFunc(g.AntiAffinity, func(t cluster.Term) bool {
				return t.TopologyKey == key && t.Matches(c.Pod.Namespace, c.Pod.NamespaceLabels, c.Pod.Shape.Labels)
			})
		})
		if out = append(out, counts); !complete {
			return out, false
		}
	}
	return out, true
}

// anyMatch reports whether a pod that matches all of the pod's affinity terms is in a domain of any of them.
func anyMatch(c *plugin.Cycle, members []topology.Members) bool {
	return slices.ContainsFunc(c.Pod.Affinity, func(t cluster.Term) bool {
		column := c.State.Column(t.TopologyKey)
		counts := topology.Count(column, members, nil)
		return slices.ContainsFunc(counts[1:], func(n int64) bool { return n > 0 })
	})
}

func describe(c *plugin.Cycle, rule verdict.TopologyRule, index int, key intern.ID, counts []int64) verdict.TopologyCounts {
	column := c.State.Column(key)
	t := verdict.TopologyCounts{Rule: rule, Index: index, TopologyKey: c.State.Symbols.Name(key)}
	for d, nodes := range column.Nodes(nodeset.Full(c.State.Len())) {
		if d == topology.None {
			continue
		}
		t.Domains = append(t.Domains, verdict.DomainCount{
			Value:    c.State.Symbols.Name(column.Values[d]),
			Matching: counts[d],
			Feasible: counts[d] == 0,
			Nodes:    nodes,
		})
	}
	slices.SortFunc(t.Domains, func(a, b verdict.DomainCount) int { return cmp.Compare(a.Value, b.Value) })
	return t
}

// inTheWay cuts counts to what may still be explained, names pods in the domains that are refused, in order of their
// nodes, and reports whether that is all of it.
func inTheWay(c *plugin.Cycle, f *plugin.Finder, key intern.ID, t *verdict.TopologyCounts, counts func(*cluster.Group) bool) bool {
	complete := plugin.Explained(c.State, t)
	type place struct {
		node  uint32
		group int
	}
	column := c.State.Column(key)
	places := make([][]place, column.Len())
	for i, g := range c.State.Groups() {
		if !counts(g) {
			continue
		}
		for _, nodes := range [][]uint32{g.Nodes, g.Assumed} {
			for _, n := range nodes {
				d := column.Domain[n]
				places[d] = append(places[d], place{n, i})
			}
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
			pods := f.On(p.node, p.group, room)
			if !c.State.Explain(verdict.EntryCost * len(pods)) {
				return false
			}
			d.Conflicting = append(d.Conflicting, pods...)
		}
	}
	return complete
}
