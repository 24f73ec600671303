package interpodaffinity

import (
	"math"

	"github.com/stowage-scheduler/stowage/engine/cluster"
	"github.com/stowage-scheduler/stowage/engine/plugin"
	"github.com/stowage-scheduler/stowage/engine/topology"
)

// Score returns the nodes' normalized scores; nil if no preference of either side touches a node.
func Score(c *plugin.Cycle, feasible []uint32) []int64 {
	own := len(c.Pod.PreferredAffinity)+len(c.Pod.PreferredAntiAffinity) > 0
	if c.Profile.IgnorePreferredTermsOfExistingPods && !own {
		return nil
	}
	by := &byKey{state: c.State}
	addWishes(by, c, c.Pod.PreferredAffinity, 1)
	addWishes(by, c, c.Pod.PreferredAntiAffinity, -1)
	// What pods on nodes require to be with counts as a wish, too, of the profile's weight.
	for t := range c.State.Wishes(c.Pod) {
		weight := t.Weight
		if t.Required {
			weight = int64(c.Profile.HardPodAffinityWeight)
		}
		if weight != 0 {
			by.add(t.TopologyKey, c.State.Group(int(t.Group)).Members, weight)
		}
	}
	if !by.touched {
		return nil
	}

	scores := c.Scores(len(feasible))
	for i, column := range by.columns {
		by.counts[i][topology.None] = 0
		for j, n := range feasible {
			scores[j] += by.counts[i][column.Domain[n]]
		}
	}
	normalize(scores)
	return scores
}

// addWishes gathers the pods that the pod's own preferred terms match.
func addWishes(by *byKey, c *plugin.Cycle, terms []cluster.WeightedTerm, sign int64) {
	for i := range terms {
		t := &terms[i]
		for _, m := range c.State.Matching(&t.Term) {
			by.add(t.TopologyKey, m, sign*t.Weight)
		}
	}
}

// normalize stretches scores to 0..MaxScore between the lowest and the highest; all are 0 if these are equal.
func normalize(scores []int64) {
	lowest, highest := int64(math.MaxInt64), int64(math.MinInt64)
	for _, s := range scores {
		lowest, highest = min(lowest, s), max(highest, s)
	}
	last, normalized := lowest, int64(0)
	for i, s := range scores {
		if s != last {
			last, normalized = s, int64(plugin.MaxScore*(float64(s-lowest)/float64(highest-lowest)))
		}
		scores[i] = normalized
	}
}
