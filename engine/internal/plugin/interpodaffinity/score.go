package interpodaffinity

import (
	"math"

	"github.com/stowage-scheduler/stowage/engine/internal/cluster"
	"github.com/stowage-scheduler/stowage/engine/internal/plugin"
	"github.com/stowage-scheduler/stowage/engine/internal/topology"
)

// Score returns the nodes' normalized scores; nil if no preferred term of either side touches a node.
func Score(c *plugin.Cycle, feasible []uint32) []int64 {
	by := preferredTerms(c)
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

// preferredTerms adds up the weights of the terms of both sides that count for scores.
func preferredTerms(c *plugin.Cycle) *byKey {
	by := &byKey{state: c.State}
	if skipped(c) {
		return by
	}
	addOwnTerms(by, c, c.Pod.PreferredAffinity, 1)
	addOwnTerms(by, c, c.Pod.PreferredAntiAffinity, -1)
	for t := range c.State.Wishes(c.Pod) {
		if weight := weightOf(c, t.Required, t.Weight); weight != 0 {
			by.add(t.TopologyKey, c.State.Group(int(t.Group)).Members, weight)
		}
	}
	return by
}

// skipped reports whether the profile ignores the terms that count for the pod's scores.
func skipped(c *plugin.Cycle) bool {
	own := len(c.Pod.PreferredAffinity)+len(c.Pod.PreferredAntiAffinity) > 0
	return c.Profile.IgnorePreferredTermsOfExistingPods && !own
}

// weightOf returns the weight of a term of existing pods. Their required affinity terms count with the weight of the
// profile.
func weightOf(c *plugin.Cycle, required bool, weight int64) int64 {
	if required {
		return int64(c.Profile.HardPodAffinityWeight)
	}
	return weight
}

// addOwnTerms adds the pods that the pod's own preferred terms match.
func addOwnTerms(by *byKey, c *plugin.Cycle, terms []cluster.WeightedTerm, sign int64) {
	for i := range terms {
		t := &terms[i]
		for _, m := range c.State.Matching(&t.Term) {
			by.add(t.TopologyKey, m, sign*t.Weight)
		}
	}
}

// normalize scales scores to 0..MaxScore between the lowest and the highest. All are 0 if these are equal.
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

// Normalized returns the normalized form of one score.
func Normalized(score, lowest, highest int64) int64 {
	if lowest == highest {
		return 0
	}
	return int64(plugin.MaxScore * (float64(score-lowest) / float64(highest-lowest)))
}
