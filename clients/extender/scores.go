package extender

import (
	"fmt"
	"strings"

	stowagev1 "github.com/stowage-scheduler/stowage/proto/stowage/v1"
)

// Range is how Stowage's points become an extender's.
type Range string

const (
	// Rescaled is 0 to 10, as the extender's API says: what a node has of the points that it could have, rounded. With the
	// plugins' weights added up as the extender's weight, kube-scheduler adds nearly what its own plugins would have:
	// with the two default plugins, 400 points in steps of 40.
	Rescaled Range = "rescaled"
	// Exact is the points themselves. kube-scheduler multiplies an extender's scores by its weight and by 10, and does not
	// check their range (pkg/scheduler/schedule_one.go prioritizeNodes, v1.37): with weight 1, and the weights of the
	// plugins that stay in-tree multiplied by 10, the sum is ten times what kube-scheduler would have, for every node.
	Exact Range = "exact"
)

// Scores says what Prioritize answers. The zero value is the default.
type Scores struct {
	// Range is Rescaled if empty.
	Range Range
	// Plugins are those whose points count: the ones that are disabled in kube-scheduler. InterPodAffinity and
	// PodTopologySpread if empty.
	Plugins []stowagev1.Plugin
	// weights are those of the profile, by plugin.
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

// NewScores makes scores of plugins by name, with the weights of a profile, which may be nil.
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
			return Scores{}, fmt.Errorf("%q is no scoring plugin that Stowage knows", name)
		}
		s.Plugins = append(s.Plugins, scorer.plugin)
	}
	return s, nil
}

// maximum is the most points that a node can get.
func (s *Scores) maximum() int64 {
	var sum int64
	for _, p := range s.plugins() {
		weight, ok := s.weights[p]
		if !ok {
			weight = 2 // that of the two default plugins
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

// of is an extender's scores of the nodes of an answer.
func (s *Scores) of(answer *stowagev1.ScoreResponse) []int64 {
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
