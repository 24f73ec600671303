package oracle

import (
	"maps"
	"slices"

	"k8s.io/apimachinery/pkg/runtime"
	schedulerv1 "k8s.io/kube-scheduler/config/v1"
	"k8s.io/kubernetes/pkg/scheduler/apis/config"
	configscheme "k8s.io/kubernetes/pkg/scheduler/apis/config/scheme"
	configvalidation "k8s.io/kubernetes/pkg/scheduler/apis/config/validation"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins/names"

	"github.com/stowage-scheduler/stowage/bench/parity/scenario"
)

// profileOf returns upstream's default profile with the case's arguments, validated as kube-scheduler validates its
// configuration file.
func profileOf(of *scenario.Case) (*config.KubeSchedulerProfile, error) {
	c := &of.Config
	name := "default-scheduler"
	profile := schedulerv1.KubeSchedulerProfile{SchedulerName: &name}
	profile.Plugins = &schedulerv1.Plugins{}
	if of.Grouped() {
		fit := int32(1)
		if w, ok := c.Weights[names.NodeResourcesFit]; ok {
			fit = w
		}
		groupPlugins(profile.Plugins, fit, of.Whole)
	}
	for _, plugin := range c.DisabledFilters {
		disable(plugin, &profile.Plugins.PreFilter, &profile.Plugins.Filter)
		if plugin == names.DynamicResources { // which binds no pod without them
			disable(plugin, &profile.Plugins.MultiPoint)
		}
	}
	for _, plugin := range c.DisabledPostFilters {
		disable(plugin, &profile.Plugins.PostFilter)
	}
	for _, plugin := range c.DisabledPodGroupPostFilters {
		disableForGroups(plugin, &profile.Plugins.PodGroupPostFilter)
	}
	for _, plugin := range c.DisabledScores {
		disable(plugin, &profile.Plugins.PreScore, &profile.Plugins.Score)
	}
	if len(c.Weights) > 0 {
		for _, plugin := range slices.Sorted(maps.Keys(c.Weights)) {
			weight := c.Weights[plugin]
			profile.Plugins.MultiPoint.Enabled = append(profile.Plugins.MultiPoint.Enabled, schedulerv1.Plugin{Name: plugin, Weight: &weight})
		}
	}
	args := func(plugin string, given bool, object runtime.Object) {
		if given {
			profile.PluginConfig = append(profile.PluginConfig, schedulerv1.PluginConfig{
				Name: plugin,
				Args: runtime.RawExtension{Object: object.DeepCopyObject()},
			})
		}
	}
	args(names.DefaultPreemption, true, &schedulerv1.DefaultPreemptionArgs{MinCandidateNodesPercentage: new(int32(100))})
	args(names.NodeAffinity, c.NodeAffinity != nil, c.NodeAffinity)
	args(names.NodeResourcesFit, c.NodeResourcesFit != nil, c.NodeResourcesFit)
	args(names.NodeResourcesBalancedAllocation, c.BalancedAllocation != nil, c.BalancedAllocation)
	args(names.InterPodAffinity, c.InterPodAffinity != nil, c.InterPodAffinity)
	args(names.PodTopologySpread, c.PodTopologySpread != nil, c.PodTopologySpread)

	versioned := schedulerv1.KubeSchedulerConfiguration{Profiles: []schedulerv1.KubeSchedulerProfile{profile}}
	configscheme.Scheme.Default(&versioned)
	var internal config.KubeSchedulerConfiguration
	if err := configscheme.Scheme.Convert(&versioned, &internal, nil); err != nil {
		return nil, err
	}
	internal.APIVersion = schedulerv1.SchemeGroupVersion.String()
	if err := configvalidation.ValidateKubeSchedulerConfiguration(&internal); err != nil {
		return nil, &InvalidConfigError{err}
	}
	return &internal.Profiles[0], nil
}

func disable(plugin string, at ...*schedulerv1.PluginSet) {
	for _, set := range at {
		set.Disabled = append(set.Disabled, schedulerv1.Plugin{Name: plugin})
	}
}

// disableForGroups disables a plugin that groupPlugins may have put under another name.
func disableForGroups(plugin string, set *schedulerv1.PluginSet) {
	set.Enabled = slices.DeleteFunc(set.Enabled, func(p schedulerv1.Plugin) bool {
		return p.Name == plugin || p.Name == preemptingName && plugin == names.DefaultPreemption
	})
	disable(plugin, set)
}

// InvalidConfigError says that kube-scheduler would not start with the case's configuration.
type InvalidConfigError struct{ error }

func argsOf(p *config.KubeSchedulerProfile, plugin string) runtime.Object {
	i := slices.IndexFunc(p.PluginConfig, func(c config.PluginConfig) bool { return c.Name == plugin })
	if i < 0 {
		return nil
	}
	return p.PluginConfig[i].Args
}
