package object

import stowagev1 "github.com/stowage-scheduler/stowage/proto/stowage/v1"

// Plugin is a plugin's name as kube-scheduler's configuration has it.
func Plugin(p stowagev1.Plugin) string {
	switch p {
	case stowagev1.Plugin_PLUGIN_SCHEDULING_GATES:
		return "SchedulingGates"
	case stowagev1.Plugin_PLUGIN_NODE_NAME:
		return "NodeName"
	case stowagev1.Plugin_PLUGIN_NODE_UNSCHEDULABLE:
		return "NodeUnschedulable"
	case stowagev1.Plugin_PLUGIN_TAINT_TOLERATION:
		return "TaintToleration"
	case stowagev1.Plugin_PLUGIN_NODE_AFFINITY:
		return "NodeAffinity"
	case stowagev1.Plugin_PLUGIN_NODE_PORTS:
		return "NodePorts"
	case stowagev1.Plugin_PLUGIN_NODE_RESOURCES_FIT:
		return "NodeResourcesFit"
	case stowagev1.Plugin_PLUGIN_POD_TOPOLOGY_SPREAD:
		return "PodTopologySpread"
	case stowagev1.Plugin_PLUGIN_INTER_POD_AFFINITY:
		return "InterPodAffinity"
	case stowagev1.Plugin_PLUGIN_NODE_RESOURCES_BALANCED_ALLOCATION:
		return "NodeResourcesBalancedAllocation"
	case stowagev1.Plugin_PLUGIN_IMAGE_LOCALITY:
		return "ImageLocality"
	case stowagev1.Plugin_PLUGIN_DEFAULT_PREEMPTION:
		return "DefaultPreemption"
	case stowagev1.Plugin_PLUGIN_TOPOLOGY_PLACEMENT_GENERATOR:
		return "TopologyPlacementGenerator"
	case stowagev1.Plugin_PLUGIN_NODE_DECLARED_FEATURES:
		return "NodeDeclaredFeatures"
	case stowagev1.Plugin_PLUGIN_VOLUME_RESTRICTIONS:
		return "VolumeRestrictions"
	case stowagev1.Plugin_PLUGIN_NODE_VOLUME_LIMITS:
		return "NodeVolumeLimits"
	case stowagev1.Plugin_PLUGIN_VOLUME_BINDING:
		return "VolumeBinding"
	case stowagev1.Plugin_PLUGIN_DYNAMIC_RESOURCES:
		return "DynamicResources"
	case stowagev1.Plugin_PLUGIN_VOLUME_ZONE:
		return "VolumeZone"
	}
	return p.String()
}
