package nodeaffinity

import (
	"github.com/stowage-scheduler/stowage/engine/api"
	"github.com/stowage-scheduler/stowage/engine/internal/plugin"
	"github.com/stowage-scheduler/stowage/engine/internal/selector"
)

// Score returns the nodes' normalized scores: the sums of the weights of matching preferred terms. nil if neither the
// pod nor the profile has any, or if kube-scheduler cannot parse the pod's terms.
func Score(c *plugin.Cycle, feasible []uint32) []int64 {
	scores := Weights(c, feasible)
	plugin.Normalize(scores, false)
	return scores
}

// Weights returns the scores before they are normalized.
func Weights(c *plugin.Cycle, of []uint32) []int64 {
	var terms []api.PreferredNodeTerm
	if a := c.Profile.AddedAffinity; a != nil {
		terms = append(terms, a.Preferred...)
	}
	if a := c.Pod.Spec().NodeAffinity; a != nil {
		if selector.PreferredNodeTermsError(a.Preferred) != "" {
			return nil
		}
		terms = append(terms, a.Preferred...)
	}
	if len(terms) == 0 {
		return nil
	}
	scores := c.Scores(len(of))
	for _, t := range terms {
		nodes := c.State.SelectedByTerm(t.Preference)
		if nodes == nil || c.State.Ended() {
			continue
		}
		for i, n := range of {
			if nodes.Has(n) {
				scores[i] += int64(t.Weight)
			}
		}
	}
	return scores
}
