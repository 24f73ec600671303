package engine

import (
	"slices"

	"github.com/stowage-scheduler/stowage/engine/api"
	"github.com/stowage-scheduler/stowage/engine/internal/cluster"
	"github.com/stowage-scheduler/stowage/engine/internal/gang"
)

// MaxJointPods bounds the pods of a group that is placed jointly.
const MaxJointPods = gang.MaxJointPods

// Grouped adds to the groups of a queue the entries that are in no group yet and whose pods name one, either a group of the list or
// a group that find returns. Groups from find follow the listed ones, in the order of their first entries. Groups from find with too
// many pods are placed in order instead of jointly.
func Grouped(queue []Pending, groups []PodGroup, find func(name string) *api.PodGroup) []PodGroup {
	if !slices.ContainsFunc(queue, func(p Pending) bool { return p.Pod.Template.Spec.SchedulingGroup != "" }) {
		return groups
	}
	taken := make([]bool, len(queue))
	index := make(map[string]int)
	for i := range groups {
		index[groups[i].Name] = i
		for _, e := range groups[i].Entries {
			taken[e] = true
		}
	}
	listed := len(groups)
	groups = slices.Clone(groups)
	own := make(map[int]bool) // groups whose entries are their own
	for e := range queue {
		name := cluster.PodGroupOf(queue[e].Pod.Template)
		if name == "" || taken[e] {
			continue
		}
		i, known := index[name]
		if !known {
			of := find(name)
			if of == nil {
				continue
			}
			i, index[name] = len(groups), len(groups)
			groups, own[i] = append(groups, *of), true
		}
		g := &groups[i]
		if !own[i] {
			g.Entries, own[i] = slices.Clone(g.Entries), true
		}
		at, _ := slices.BinarySearch(g.Entries, e)
		g.Entries = slices.Insert(g.Entries, at, e)
	}
	for i := listed; i < len(groups); i++ {
		pods := 0
		for _, e := range groups[i].Entries {
			pods += queue[e].Count
		}
		groups[i].Joint = groups[i].Joint && pods <= MaxJointPods
	}
	return groups
}

// grouped is Grouped with the groups of the cluster.
func (c *Cluster) grouped(queue []Pending, groups []PodGroup) []PodGroup {
	return Grouped(queue, groups, func(name string) *api.PodGroup {
		g, _ := c.compiled.PodGroup(name)
		return g
	})
}

// inOrder returns groups that are placed in order.
func inOrder(groups []PodGroup) []PodGroup {
	if !slices.ContainsFunc(groups, func(g PodGroup) bool { return g.Joint }) {
		return groups
	}
	groups = slices.Clone(groups)
	for i := range groups {
		groups[i].Joint = false
	}
	return groups
}
