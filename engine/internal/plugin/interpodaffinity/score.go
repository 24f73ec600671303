package interpodaffinity

import (
	"math"

	"github.com/stowage-scheduler/stowage/engine/internal/cluster"
	"github.com/stowage-scheduler/stowage/engine/internal/plugin"
	"github.com/stowage-scheduler/stowage/engine/internal/topology"
)

// Score returns the nodes' normalized scores; nil if no preference of either side touches a node.
func Score(c *plugin.Cycle, feasible []uint32) []int64 {
	by := wishes(c)
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

// wishes adds up the weights of the preferences of both sides.
func wishes(c *plugin.Cycle) *byKey {
	by := &byKey{state: c.State}
	if skipped(c) {
		return by
	}
	addWishes(by, c, c.Pod.PreferredAffinity, 1)
	addWishes(by, c, c.Pod.PreferredAntiAffinity, -1)
	for t := range c.State.Wishes(c.Pod) {
		if weight := weightOf(c, t.Required, t.Weight); weight != 0 {
			by.add(t.TopologyKey, c.State.Group(int(t.Group)).Members, weight)
		}
	}
	return by
}

// skipped reports whether preferences do not count for the pod.
func skipped(c *plugin.Cycle) bool {
	own := len(c.Pod.PreferredAffinity)+len(c.Pod.PreferredAntiAffinity) > 0
	return c.Profile.IgnorePreferredTermsOfExistingPods && !own
}

// weightOf returns what a term of pods on nodes counts for. What they require to be with counts as a wish, too, of the
// profile's weight.
func weightOf(c *plugin.Cycle, required bool, weight int64) int64 {
	if required {
		return int64(c.Profile.HardPodAffinityWeight)
	}
	return weight
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
			last, normalized = s, Normalized(s, lowest, highest)
		}
		scores[i] = normalized
	}
}

// Normalized returns where a score stands between the lowest and the highest.
func Normalized(score, lowest, highest int64) int64 {
	if lowest == highest {
		return 0
	}
	return int64(plugin.MaxScore * (float64(score-lowest) / float64(highest-lowest)))
}
