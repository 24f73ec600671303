package compare

import (
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
	schedulerv1 "k8s.io/kube-scheduler/config/v1"

	"github.com/stowage-scheduler/stowage/bench/parity/expect"
	"github.com/stowage-scheduler/stowage/bench/parity/scenario"
	"github.com/stowage-scheduler/stowage/clients/kube/convert"
	stowagev1 "github.com/stowage-scheduler/stowage/proto/stowage/v1"
)

// profileOf converts a configuration; nil for the default one.
func profileOf(c *scenario.Config) (*stowagev1.Profile, error) {
	p := &stowagev1.Profile{}
	if c.TolerationComparisonOperators {
		gate := &stowagev1.FeatureGate{Name: "TaintTolerationComparisonOperators", Enabled: new(true)}
		p.FeatureGates = append(p.FeatureGates, gate)
	}
	for _, name := range slices.Sorted(maps.Keys(c.Weights)) {
		p.PluginWeights = append(p.PluginWeights, &stowagev1.PluginWeight{Plugin: expect.Plugins[name], Weight: new(c.Weights[name])})
	}
	for _, name := range c.DisabledScores {
		p.PluginWeights = append(p.PluginWeights, &stowagev1.PluginWeight{Plugin: expect.Plugins[name], Weight: new(int32(0))})
	}
	for _, name := range c.DisabledFilters {
		p.DisabledFilters = append(p.DisabledFilters, expect.Plugins[name])
	}
	for _, name := range c.DisabledPostFilters {
		p.DisabledPostFilters = append(p.DisabledPostFilters, postFilters[name])
	}
	for _, name := range c.DisabledPodGroupPostFilters {
		p.DisabledPodGroupPostFilters = append(p.DisabledPodGroupPostFilters, postFilters[name])
	}
	if a := c.NodeAffinity; a != nil && a.AddedAffinity != nil {
		spec, err := converted(corev1.PodSpec{Affinity: &corev1.Affinity{NodeAffinity: a.AddedAffinity}})
		if err != nil {
			return nil, err
		}
		p.AddedAffinity = spec.Affinity.GetNodeAffinity()
	}
	if a := c.NodeResourcesFit; a != nil {
		p.IgnoredResources, p.IgnoredResourceGroups = a.IgnoredResources, a.IgnoredResourceGroups
		p.ScoringStrategy = scoringStrategy(a.ScoringStrategy)
	}
	if a := c.BalancedAllocation; a != nil {
		for _, r := range a.Resources {
			p.BalancedAllocationResources = append(p.BalancedAllocationResources, r.Name)
		}
	}
	if a := c.InterPodAffinity; a != nil {
		p.HardPodAffinityWeight = a.HardPodAffinityWeight
		p.IgnorePreferredTermsOfExistingPods = a.IgnorePreferredTermsOfExistingPods
	}
	if a := c.PodTopologySpread; a != nil {
		spec, err := converted(corev1.PodSpec{TopologySpreadConstraints: a.DefaultConstraints})
		if err != nil {
			return nil, err
		}
		p.DefaultSpread = &stowagev1.DefaultSpread{Constraints: spec.TopologySpreadConstraints}
		if a.DefaultingType == schedulerv1.ListDefaulting {
			p.DefaultSpread.Type = stowagev1.DefaultingType_DEFAULTING_TYPE_LIST
		}
	}
	return p, nil
}

var postFilters = map[string]stowagev1.PostFilter{
	"DynamicResources":  stowagev1.PostFilter_POST_FILTER_DYNAMIC_RESOURCES,
	"DefaultPreemption": stowagev1.PostFilter_POST_FILTER_DEFAULT_PREEMPTION,
}

// converted has clients/kube state what stands in pods and in configurations alike.
func converted(spec corev1.PodSpec) (*stowagev1.PodSpec, error) {
	pod, err := convert.PendingPod(&corev1.Pod{Spec: spec})
	return pod.GetTemplate().GetSpec(), err
}

var strategies = map[schedulerv1.ScoringStrategyType]stowagev1.ScoringStrategyType{
	schedulerv1.LeastAllocated:           stowagev1.ScoringStrategyType_SCORING_STRATEGY_TYPE_LEAST_ALLOCATED,
	schedulerv1.MostAllocated:            stowagev1.ScoringStrategyType_SCORING_STRATEGY_TYPE_MOST_ALLOCATED,
	schedulerv1.RequestedToCapacityRatio: stowagev1.ScoringStrategyType_SCORING_STRATEGY_TYPE_REQUESTED_TO_CAPACITY_RATIO,
}

func scoringStrategy(s *schedulerv1.ScoringStrategy) *stowagev1.ScoringStrategy {
	if s == nil {
		return nil
	}
	out := &stowagev1.ScoringStrategy{Type: strategies[s.Type], Resources: resourceWeights(s.Resources)}
	if s.RequestedToCapacityRatio != nil {
		for _, point := range s.RequestedToCapacityRatio.Shape {
			out.Shape = append(out.Shape, &stowagev1.UtilizationShapePoint{Utilization: point.Utilization, Score: point.Score})
		}
	}
	return out
}

func resourceWeights(specs []schedulerv1.ResourceSpec) []*stowagev1.ResourceWeight {
	var out []*stowagev1.ResourceWeight
	for _, s := range specs {
		out = append(out, &stowagev1.ResourceWeight{Name: s.Name, Weight: s.Weight})
	}
	return out
}
