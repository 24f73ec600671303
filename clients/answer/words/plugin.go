package words

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
	}
	return p.String()
}

// Rule names a rule that counts pods per topology domain.
func Rule(r stowagev1.TopologyRule) string {
	switch r {
	case stowagev1.TopologyRule_TOPOLOGY_RULE_HARD_SPREAD:
		return "hard spread"
	case stowagev1.TopologyRule_TOPOLOGY_RULE_SOFT_SPREAD:
		return "soft spread"
	case stowagev1.TopologyRule_TOPOLOGY_RULE_POD_AFFINITY:
		return "affinity"
	case stowagev1.TopologyRule_TOPOLOGY_RULE_POD_ANTI_AFFINITY:
		return "anti-affinity"
	case stowagev1.TopologyRule_TOPOLOGY_RULE_EXISTING_POD_ANTI_AFFINITY:
		return "existing pods' anti-affinity"
	}
	return r.String()
}

// Uncounted is why a spread constraint does not count a node.
func Uncounted(r stowagev1.UncountedReason) string {
	switch r {
	case stowagev1.UncountedReason_UNCOUNTED_REASON_MISSING_TOPOLOGY_KEY:
		return "missing topology key"
	case stowagev1.UncountedReason_UNCOUNTED_REASON_NODE_AFFINITY_POLICY:
		return "node affinity policy"
	case stowagev1.UncountedReason_UNCOUNTED_REASON_NODE_TAINTS_POLICY:
		return "node taints policy"
	}
	return r.String()
}

// Taint writes a taint as kubectl does.
func Taint(t *stowagev1.Taint) string {
	out := t.GetKey()
	if t.GetValue() != "" {
		out += "=" + t.GetValue()
	}
	switch t.GetEffect() {
	case stowagev1.TaintEffect_TAINT_EFFECT_NO_SCHEDULE:
		return out + ":NoSchedule"
	case stowagev1.TaintEffect_TAINT_EFFECT_PREFER_NO_SCHEDULE:
		return out + ":PreferNoSchedule"
	case stowagev1.TaintEffect_TAINT_EFFECT_NO_EXECUTE:
		return out + ":NoExecute"
	}
	return out
}
