package tainttoleration

import (
	"slices"

	"github.com/stowage-scheduler/stowage/engine/api"
	"github.com/stowage-scheduler/stowage/engine/internal/plugin"
)

// Score returns the nodes' normalized scores: fewer untolerated PreferNoSchedule taints are better.
func Score(c *plugin.Cycle, feasible []uint32) []int64 {
	untolerated := UntoleratedPreferences(c)
	scores := c.Scores(len(feasible))
	if slices.Max(untolerated) == 0 {
		for i := range scores {
			scores[i] = plugin.MaxScore
		}
		return scores
	}
	number := c.State.TaintNumbers()
	for i, n := range feasible {
		scores[i] = untolerated[number(n)]
	}
	plugin.Normalize(scores, true)
	return scores
}

// UntoleratedPreferences returns the number of untolerated PreferNoSchedule taints by class of nodes.
func UntoleratedPreferences(c *plugin.Cycle) []int64 {
	var tolerations []api.Toleration
	for _, t := range c.Pod.Spec().Tolerations {
		if t.Effect == api.EveryEffect || t.Effect == api.PreferNoSchedule {
			tolerations = append(tolerations, t)
		}
	}
	untolerated := make([]int64, len(c.State.TaintLists()))
	for class, list := range c.State.TaintLists() {
		if c.State.Ended() {
			break
		}
		for i := range list {
			if list[i].Effect == api.PreferNoSchedule && !Tolerate(tolerations, &list[i], c.Profile) {
				untolerated[class]++
			}
		}
	}
	return untolerated
}
