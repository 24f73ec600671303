package verdict

import "fmt"

// Plugin is one of kube-scheduler's plugins.
type Plugin uint8

// The plugins. Their numbers do not specify the order in which they run; engine.Plugins does.
const (
	NoPlugin Plugin = iota
	SchedulingGates
	NodeName
	NodeUnschedulable
	TaintToleration
	NodeAffinity
	NodePorts
	NodeResourcesFit
	PodTopologySpread
	InterPodAffinity
	BalancedAllocation
	ImageLocality
	DefaultPreemption
	TopologyPlacement
	NodeDeclaredFeatures
	VolumeRestrictions
	NodeVolumeLimits
	VolumeBinding
	VolumeZone
	DynamicResources
	PluginCount
)

var pluginNames = [PluginCount]string{
	"", "SchedulingGates", "NodeName", "NodeUnschedulable", "TaintToleration", "NodeAffinity", "NodePorts",
	"NodeResourcesFit", "PodTopologySpread", "InterPodAffinity", "NodeResourcesBalancedAllocation", "ImageLocality",
	"DefaultPreemption", "TopologyPlacementGenerator", "NodeDeclaredFeatures",
	"VolumeRestrictions", "NodeVolumeLimits", "VolumeBinding", "VolumeZone", "DynamicResources",
}

func (p Plugin) String() string {
	if p < PluginCount {
		return pluginNames[p]
	}
	return fmt.Sprintf("Plugin(%d)", uint8(p))
}
