package extender

import (
	"fmt"
	"strings"

	stowagev1 "github.com/stowage-scheduler/stowage/proto/stowage/v1"
)

// Range is the scale of an extender's scores.
type Range string

const (
	// Rescaled is 0 to 10, as in the extender API: a node's share of the maximum score, rounded. If the extender's weight
	// is the sum of the plugins' weights, kube-scheduler adds nearly the score of its own plugins: with the two default
	// plugins, 400 points in steps of 40.
	Rescaled Range = "rescaled"
	// Exact is the unscaled score. kube-scheduler multiplies an extender's scores by its weight and by 10, and does not
	// check their range (pkg/scheduler/schedule_one.go prioritizeNodes, v1.37). With weight 1, and the weights of the
	// in-tree plugins multiplied by 10, every node's sum is ten times kube-scheduler's own.
	Exact Range = "exact"
)

// Scores configure Prioritize. The zero value has the defaults.
type Scores struct {
	// Range is Rescaled if empty.
	Range Range
	// Plugins are the plugins whose scores count. kube-scheduler must have disabled them. InterPodAffinity and PodTopologySpread if
	// empty.
	Plugins []stowagev1.Plugin
	// weights are the profile's weights by plugin.
	weights map[stowagev1.Plugin]int64
}

// scorers are kube-scheduler's scoring plugins by name, and their default weights
// (pkg/scheduler/apis/config/v1/default_plugins.go, v1.37).
var scorers = map[string]struct {
	plugin stowagev1.Plugin
	weight int64
}{
	"TaintToleration":                 {stowagev1.Plugin_PLUGIN_TAINT_TOLERATION, 3},
	"NodeAffinity":                    {stowagev1.Plugin_PLUGIN_NODE_AFFINITY, 2},
	"NodeResourcesFit":                {stowagev1.Plugin_PLUGIN_NODE_RESOURCES_FIT, 1},
	"PodTopologySpread":               {stowagev1.Plugin_PLUGIN_POD_TOPOLOGY_SPREAD, 2},
	"InterPodAffinity":                {stowagev1.Plugin_PLUGIN_INTER_POD_AFFINITY, 2},
	"NodeResourcesBalancedAllocation": {stowagev1.Plugin_PLUGIN_NODE_RESOURCES_BALANCED_ALLOCATION, 1},
	"ImageLocality":                   {stowagev1.Plugin_PLUGIN_IMAGE_LOCALITY, 1},
}

// NewScores returns the scores of plugins, by name, with the weights of a profile, which may be nil.
func NewScores(r Range, plugins []string, profile *stowagev1.Profile) (Scores, error) {
	s := Scores{Range: r, weights: map[stowagev1.Plugin]int64{}}
	for _, scorer := range scorers {
		s.weights[scorer.plugin] = scorer.weight
	}
	for _, w := range profile.GetPluginWeights() {
		if w.Weight != nil {
			s.weights[w.GetPlugin()] = int64(w.GetWeight())
		}
	}
	for _, name := range plugins {
		scorer, ok := scorers[strings.TrimSpace(name)]
		if !ok {
			return Scores{}, fmt.Errorf("%q is not a scoring plugin that Stowage evaluates", name)
		}
		s.Plugins = append(s.Plugins, scorer.plugin)
	}
	return s, nil
}

// maximum is the highest score of a node.
func (s *Scores) maximum() int64 {
	var sum int64
	for _, p := range s.plugins() {
		weight, ok := s.weights[p]
		if !ok {
			weight = 2 // both default plugins have this weight
		}
		sum += 100 * weight
	}
	return sum
}

func (s *Scores) plugins() []stowagev1.Plugin {
	if len(s.Plugins) == 0 {
		return []stowagev1.Plugin{stowagev1.Plugin_PLUGIN_INTER_POD_AFFINITY, stowagev1.Plugin_PLUGIN_POD_TOPOLOGY_SPREAD}
	}
	return s.Plugins
}

// list returns the extender's scores of the nodes of a response.
func (s *Scores) list(answer *stowagev1.ScoreResponse) []int64 {
	out := make([]int64, len(answer.GetNodes().GetIndexes()))
	wanted := map[stowagev1.Plugin]bool{}
	for _, p := range s.plugins() {
		wanted[p] = true
	}
	for _, column := range answer.GetPluginScores() {
		if wanted[column.GetPlugin()] {
			for i, points := range column.GetWeightedScores() {
				out[i] += points
			}
		}
	}
	if s.Range == Exact {
		return out
	}
	most := s.maximum()
	if most == 0 { // no plugin scores
		return out
	}
	for i, points := range out {
		out[i] = (10*points + most/2) / most
	}
	return out
}
