package interpodaffinity

import (
	"math"

	"github.com/stowage-scheduler/stowage/engine/api"
	"github.com/stowage-scheduler/stowage/engine/internal/plugin"
)

// Score returns the nodes' normalized scores; nil if no preferred term of either side touches a node.
func Score(c *plugin.Cycle, feasible []uint32) []int64 {
	p := NewPreferred(c)
	if !p.touched {
		return nil
	}
	scores := c.Scores(len(feasible))
	for _, t := range p.Tallies {
		for i, n := range feasible {
			scores[i] += t.ByDomain[t.Column.Domain[n]]
		}
	}
	normalize(scores)
	return scores
}

// skipped reports whether the profile ignores the terms that count for a pod's scores.
func skipped(spec *api.PodSpec, profile *api.Profile) bool {
	own := spec.PodAffinity != nil && len(spec.PodAffinity.Preferred) > 0 ||
		spec.PodAntiAffinity != nil && len(spec.PodAntiAffinity.Preferred) > 0
	return profile.IgnorePreferredTermsOfExistingPods && !own
}

// weightOf returns the weight of a term of existing pods. Their required affinity terms count with the weight of the
// profile.
func weightOf(c *plugin.Cycle, required bool, weight int64) int64 {
	if required {
		return int64(c.Profile.HardPodAffinityWeight)
	}
	return weight
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
