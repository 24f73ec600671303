package generate

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	schedulerv1 "k8s.io/kube-scheduler/config/v1"

	"github.com/stowage-scheduler/stowage/bench/parity/scenario"
)

var scoringPlugins = []string{
	"TaintToleration", "NodeAffinity", "NodeResourcesFit", "PodTopologySpread", "InterPodAffinity",
	"NodeResourcesBalancedAllocation", "ImageLocality",
}

// config draws how the scheduler is configured: by default mostly, and by one or two arguments otherwise.
func (d *draw) config() {
	c := &d.c.Config
	c.TolerationComparisonOperators = d.focus(taints) && d.chance(0.4)
	if d.chance(0.12) {
		c.Weights = map[string]int32{}
		for _, plugin := range some(d, 0.4, scoringPlugins...) {
			c.Weights[plugin] = int32(pick(d, 1, 2, 5, 10, 1000))
		}
	}
	if d.focus(disabling) {
		d.disabled(c)
	}
	if d.likelihood[devicing] > 0 && d.chance(0.02) {
		all := []string{"DynamicResources"}
		c.DisabledFilters, c.DisabledScores, c.DisabledPostFilters, c.DisabledPodGroupPostFilters = all, all, all, all
	}
	if d.likelihood[sparing] > 0 && d.has(sparing) {
		c.DisabledPostFilters = some(d, 0.5, postFilters...)
		c.DisabledPodGroupPostFilters = some(d, 0.5, postFilters...)
	}
	if d.chance(chanceOf(d, nodeAffinity)) {
		c.NodeAffinity = &schedulerv1.NodeAffinityArgs{AddedAffinity: d.addedAffinity()}
	}
	if d.focus(strategies) && d.has(strategies) || d.chance(chanceOf(d, resources)) {
		d.fit(c)
	}
	if d.chance(chanceOf(d, resources)) {
		d.balanced(c)
	}
	if d.focus(devicing) && d.chance(0.15) { // so that scores count devices that serve a resource
		d.fit(c)
		d.balanced(c)
	}
	if d.chance(chanceOf(d, podAffinity)) {
		c.InterPodAffinity = &schedulerv1.InterPodAffinityArgs{
			HardPodAffinityWeight:              ptr(int32(pick(d, 0, 0, 1, 5, 100))),
			IgnorePreferredTermsOfExistingPods: d.chance(0.4),
		}
	}
	if d.chance(chanceOf(d, defaultSpread)) {
		c.PodTopologySpread = &schedulerv1.PodTopologySpreadArgs{DefaultingType: schedulerv1.ListDefaulting, DefaultConstraints: d.defaultConstraints()}
	}
}

var filterPlugins = []string{
	"NodeName", "NodeUnschedulable", "TaintToleration", "NodeAffinity", "NodePorts", "NodeResourcesFit", "PodTopologySpread",
	"InterPodAffinity", "NodeDeclaredFeatures",
}

var postFilters = []string{"DynamicResources", "DefaultPreemption"}

// disabled draws plugins that do not filter, do not score, or do neither.
func (d *draw) disabled(c *scenario.Config) {
	c.DisabledFilters = some(d, 0.2, filterPlugins...)
	c.DisabledScores = some(d, 0.2, scoringPlugins...)
	for _, plugin := range c.DisabledScores {
		delete(c.Weights, plugin)
	}
}

// chanceOf is how often an argument of a plugin is drawn: more where the profile is about the plugin.
func chanceOf(d *draw, f feature) float64 {
	if d.focus(f) {
		return 0.3
	}
	return 0.02
}

func (d *draw) addedAffinity() *corev1.NodeAffinity {
	a := &corev1.NodeAffinity{}
	if d.chance(0.3) {
		a.RequiredDuringSchedulingIgnoredDuringExecution = d.nodeTerms(false)
	} else if d.chance(0.5) {
		a.RequiredDuringSchedulingIgnoredDuringExecution = &corev1.NodeSelector{NodeSelectorTerms: []corev1.NodeSelectorTerm{{
			MatchExpressions: []corev1.NodeSelectorRequirement{
				{Key: corev1.LabelTopologyZone, Operator: corev1.NodeSelectorOpIn, Values: zones[:d.between(1, 4)]},
			},
		}}}
	}
	if d.chance(0.7) {
		a.PreferredDuringSchedulingIgnoredDuringExecution = []corev1.PreferredSchedulingTerm{
			{Weight: int32(d.between(1, 100)), Preference: d.nodeTerm(false)},
		}
	}
	return a
}

func (d *draw) fit(c *scenario.Config) {
	args := &schedulerv1.NodeResourcesFitArgs{}
	if d.chance(0.3) {
		// Only extended resources can be ignored; naming others has no effect.
		args.IgnoredResources = some(d, 0.5, string(gpu), string(corev1.ResourceCPU), string(hugepages))
	}
	if d.chance(0.3) {
		args.IgnoredResourceGroups = []string{"vendor.test"}
	}
	if d.chance(0.8) {
		s := &schedulerv1.ScoringStrategy{Type: pick(d, schedulerv1.LeastAllocated, schedulerv1.MostAllocated, schedulerv1.RequestedToCapacityRatio)}
		s.Resources = d.weightedResources(100, gpuResource, nicResource, anyDevice)
		if s.Type == schedulerv1.RequestedToCapacityRatio {
			s.RequestedToCapacityRatio = &schedulerv1.RequestedToCapacityRatioParam{Shape: d.shape()}
		}
		args.ScoringStrategy = s
	}
	c.NodeResourcesFit = args
}

// Extended resources that classes of devices serve. The class of anyDevice has no selectors: NodeResourcesBalancedAllocation panics where a class has
// some, as it has no cache of expressions (balanced_allocation.go NewBalancedAllocation, v1.37.1).
const (
	nicResource = corev1.ResourceName(resourcev1.ResourceDeviceClassPrefix + "nic")
	anyDevice   = corev1.ResourceName(resourcev1.ResourceDeviceClassPrefix + "any")
)

// weightedResources draws resources to score, among them some that devices serve if the profile is about devices.
func (d *draw) weightedResources(maxWeight int, served ...corev1.ResourceName) []schedulerv1.ResourceSpec {
	var out []schedulerv1.ResourceSpec
	names := []corev1.ResourceName{corev1.ResourceCPU, corev1.ResourceMemory, corev1.ResourceEphemeralStorage, gpu, license, hugepages}
	if d.focus(devicing) {
		names = append(names, served...)
	}
	for _, name := range some(d, 0.5, names...) {
		if d.chance(0.05) {
			name = pick(d, corev1.ResourcePods, corev1.ResourceStorage, "nobody.test/has-it")
			if slices.ContainsFunc(out, func(r schedulerv1.ResourceSpec) bool { return r.Name == string(name) }) {
				continue
			}
		}
		out = append(out, schedulerv1.ResourceSpec{Name: string(name), Weight: int64(d.between(1, maxWeight))})
	}
	d.Shuffle(len(out), func(i, j int) { out[i], out[j] = out[j], out[i] })
	return out
}

func (d *draw) shape() []schedulerv1.UtilizationShapePoint {
	var out []schedulerv1.UtilizationShapePoint
	for utilization := pick(d, 0, 0, 10); utilization <= 100; utilization += d.between(1, 60) {
		// A score of 0 takes the resource out of the mean.
		score := pick(d, 0, 0, d.between(0, 10), d.between(0, 10), 10)
		out = append(out, schedulerv1.UtilizationShapePoint{Utilization: int32(utilization), Score: int32(score)})
	}
	return out
}

func (d *draw) balanced(c *scenario.Config) {
	c.BalancedAllocation = &schedulerv1.NodeResourcesBalancedAllocationArgs{Resources: d.weightedResources(1, anyDevice)}
}

// defaultConstraints draws the list of default spread constraints, which must have no selectors.
func (d *draw) defaultConstraints() []corev1.TopologySpreadConstraint {
	var out []corev1.TopologySpreadConstraint
	for _, key := range some(d, 0.6, corev1.LabelHostname, corev1.LabelTopologyZone, "rack") {
		c := corev1.TopologySpreadConstraint{MaxSkew: int32(d.between(1, 5)), TopologyKey: key, WhenUnsatisfiable: corev1.ScheduleAnyway}
		if d.chance(0.4) {
			c.WhenUnsatisfiable = corev1.DoNotSchedule
			if d.chance(0.3) {
				c.MinDomains = ptr(int32(d.between(1, 4)))
			}
		}
		if d.chance(0.4) {
			d.inclusion(&c)
		}
		if d.chance(0.2) {
			c.MatchLabelKeys = []string{pick(d, podLabelKeys...)}
		}
		out = append(out, c)
	}
	return out
}
