package expect

import (
	"fmt"

	"k8s.io/kubernetes/pkg/scheduler/framework/plugins/names"

	stowagev1 "github.com/stowage-scheduler/stowage/proto/stowage/v1"
)

// Plugins are the contract's plugins by kube-scheduler's names.
var Plugins = map[string]stowagev1.Plugin{
	names.SchedulingGates:                 stowagev1.Plugin_PLUGIN_SCHEDULING_GATES,
	names.NodeName:                        stowagev1.Plugin_PLUGIN_NODE_NAME,
	names.NodeUnschedulable:               stowagev1.Plugin_PLUGIN_NODE_UNSCHEDULABLE,
	names.TaintToleration:                 stowagev1.Plugin_PLUGIN_TAINT_TOLERATION,
	names.NodeAffinity:                    stowagev1.Plugin_PLUGIN_NODE_AFFINITY,
	names.NodePorts:                       stowagev1.Plugin_PLUGIN_NODE_PORTS,
	names.NodeResourcesFit:                stowagev1.Plugin_PLUGIN_NODE_RESOURCES_FIT,
	names.PodTopologySpread:               stowagev1.Plugin_PLUGIN_POD_TOPOLOGY_SPREAD,
	names.InterPodAffinity:                stowagev1.Plugin_PLUGIN_INTER_POD_AFFINITY,
	names.NodeResourcesBalancedAllocation: stowagev1.Plugin_PLUGIN_NODE_RESOURCES_BALANCED_ALLOCATION,
	names.ImageLocality:                   stowagev1.Plugin_PLUGIN_IMAGE_LOCALITY,
	names.DefaultPreemption:               stowagev1.Plugin_PLUGIN_DEFAULT_PREEMPTION,
	names.NodeDeclaredFeatures:            stowagev1.Plugin_PLUGIN_NODE_DECLARED_FEATURES,
	names.VolumeRestrictions:              stowagev1.Plugin_PLUGIN_VOLUME_RESTRICTIONS,
	names.NodeVolumeLimits:                stowagev1.Plugin_PLUGIN_NODE_VOLUME_LIMITS,
	names.VolumeBinding:                   stowagev1.Plugin_PLUGIN_VOLUME_BINDING,
	names.VolumeZone:                      stowagev1.Plugin_PLUGIN_VOLUME_ZONE,
	names.DynamicResources:                stowagev1.Plugin_PLUGIN_DYNAMIC_RESOURCES,
}

// order is the order in which the default profile runs them.
var order = []stowagev1.Plugin{
	Plugins[names.SchedulingGates], Plugins[names.NodeName], Plugins[names.NodeUnschedulable], Plugins[names.TaintToleration],
	Plugins[names.NodeAffinity], Plugins[names.NodePorts], Plugins[names.NodeResourcesFit], Plugins[names.VolumeRestrictions],
	Plugins[names.NodeVolumeLimits], Plugins[names.VolumeBinding], Plugins[names.VolumeZone], Plugins[names.PodTopologySpread],
	Plugins[names.InterPodAffinity], Plugins[names.DynamicResources], Plugins[names.NodeResourcesBalancedAllocation], Plugins[names.ImageLocality],
	Plugins[names.DefaultPreemption], Plugins[names.NodeDeclaredFeatures],
}

// plugin returns the contract's plugin. That another plugin of the default profile takes part in a decision means that
// the case has something Stowage does not model.
func plugin(name string) (stowagev1.Plugin, error) {
	p, ok := Plugins[name]
	if !ok {
		return 0, fmt.Errorf("plugin %q takes part in the decision, which the contract does not have", name)
	}
	return p, nil
}
