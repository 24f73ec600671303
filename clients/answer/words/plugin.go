package words

import (
	"github.com/stowage-scheduler/stowage/clients/kube/object"
	stowagev1 "github.com/stowage-scheduler/stowage/proto/stowage/v1"
)

// Plugin is a plugin's name in kube-scheduler's configuration.
func Plugin(p stowagev1.Plugin) string { return object.Plugin(p) }

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
