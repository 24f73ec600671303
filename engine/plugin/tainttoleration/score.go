package tainttoleration

import (
	"slices"

	"github.com/stowage-scheduler/stowage/engine/api"
	"github.com/stowage-scheduler/stowage/engine/plugin"
)

// Score returns the nodes' normalized scores: the fewer PreferNoSchedule taints that the pod does not tolerate, the
// better.
func Score(c *plugin.Cycle, feasible []uint32) []int64 {
	var tolerations []api.Toleration
	for _, t := range c.Pod.Spec().Tolerations {
		if t.Effect == api.EveryEffect || t.Effect == api.PreferNoSchedule {
			tolerations = append(tolerations, t)
		}
	}
	taints := &c.State.Taints
	untolerated := make([]int64, len(taints.Lists))
	for class, list := range taints.Lists {
		if c.State.Ended() {
			break
		}
		for i := range list {
			if list[i].Effect == api.PreferNoSchedule && !Tolerate(tolerations, &list[i], c.Profile) {
				untolerated[class]++
			}
		}
	}
	scores := c.Scores(len(feasible))
	if slices.Max(untolerated) == 0 {
		for i := range scores {
			scores[i] = plugin.MaxScore
		}
		return scores
	}
	for i, n := range feasible {
		scores[i] = untolerated[taints.Class[n]]
	}
	plugin.Normalize(scores, true)
	return scores
}
