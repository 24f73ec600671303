package words

import (
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	stowagev1 "github.com/stowage-scheduler/stowage/proto/stowage/v1"
)

// PodRule describes a rule in words; who names its pods, spec is theirs.
func PodRule(who string, spec *stowagev1.PodSpec, r *stowagev1.PodRule) string {
	if r.GetError() != "" {
		return fmt.Sprintf("%s fails in %s: %s", who, Plugin(r.GetPlugin()), r.GetError())
	}
	switch r.GetPlugin() {
	case stowagev1.Plugin_PLUGIN_SCHEDULING_GATES:
		return who + " has scheduling gates"
	case stowagev1.Plugin_PLUGIN_NODE_NAME:
		return fmt.Sprintf("%s must be on node %s", who, spec.GetNodeName())
	case stowagev1.Plugin_PLUGIN_NODE_UNSCHEDULABLE:
		return who + " must not be on a node that is cordoned"
	case stowagev1.Plugin_PLUGIN_TAINT_TOLERATION:
		return who + " must not be on a node with a taint that it does not tolerate"
	case stowagev1.Plugin_PLUGIN_NODE_AFFINITY:
		return who + " must be on a node that its node selector or affinity matches"
	case stowagev1.Plugin_PLUGIN_NODE_PORTS:
		return who + " must have its host ports for itself"
	case stowagev1.Plugin_PLUGIN_NODE_RESOURCES_FIT:
		return fmt.Sprintf("%s must have the %s that it asks for", who, r.GetResource())
	case stowagev1.Plugin_PLUGIN_NODE_DECLARED_FEATURES:
		return fmt.Sprintf("%s must be on a node that declares %s", who, Names(spec.GetRequiredNodeFeatures()))
	case stowagev1.Plugin_PLUGIN_VOLUME_RESTRICTIONS:
		return who + " must have its disks and its ReadWriteOncePod claims for itself"
	case stowagev1.Plugin_PLUGIN_NODE_VOLUME_LIMITS:
		return who + " must be on a node whose CSI drivers can attach its volumes"
	case stowagev1.Plugin_PLUGIN_VOLUME_BINDING:
		return who + " must be on a node that can use the volumes of its claims, or for which they can be provisioned"
	case stowagev1.Plugin_PLUGIN_VOLUME_ZONE:
		return who + " must be in the zone and region of its volumes"
	case stowagev1.Plugin_PLUGIN_DYNAMIC_RESOURCES:
		return who + " must be on a node with devices for its claims"
	}
	by := ""
	if r.GetTopologyKey() != "" {
		by = " by " + r.GetTopologyKey()
	}
	i := int(r.GetIndex())
	switch r.GetRule() {
	case stowagev1.TopologyRule_TOPOLOGY_RULE_HARD_SPREAD:
		if all := spec.GetTopologySpreadConstraints(); i < len(all) {
			return fmt.Sprintf("%s must be spread%s, at most %d more pods of %s than the least",
				who, by, all[i].GetMaxSkew(), selector(all[i].GetLabelSelector()))
		}
		return fmt.Sprintf("%s must be spread%s", who, by)
	case stowagev1.TopologyRule_TOPOLOGY_RULE_POD_AFFINITY:
		return fmt.Sprintf("%s must be with %s%s", who, termPods(spec.GetAffinity().GetPodAffinity(), i), by)
	case stowagev1.TopologyRule_TOPOLOGY_RULE_POD_ANTI_AFFINITY:
		return fmt.Sprintf("%s must be apart from %s%s", who, termPods(spec.GetAffinity().GetPodAntiAffinity(), i), by)
	case stowagev1.TopologyRule_TOPOLOGY_RULE_EXISTING_POD_ANTI_AFFINITY:
		return fmt.Sprintf("pods that are there must be apart from %s%s", who, by)
	}
	return fmt.Sprintf("%s: %s%s", who, Plugin(r.GetPlugin()), by)
}

func termPods(a *stowagev1.PodAffinity, i int) string {
	if i < len(a.GetRequired()) {
		return "pods of " + selector(a.Required[i].GetLabelSelector())
	}
	return "other pods"
}

var labelOperators = map[stowagev1.LabelSelectorOperator]metav1.LabelSelectorOperator{
	stowagev1.LabelSelectorOperator_LABEL_SELECTOR_OPERATOR_IN:             metav1.LabelSelectorOpIn,
	stowagev1.LabelSelectorOperator_LABEL_SELECTOR_OPERATOR_NOT_IN:         metav1.LabelSelectorOpNotIn,
	stowagev1.LabelSelectorOperator_LABEL_SELECTOR_OPERATOR_EXISTS:         metav1.LabelSelectorOpExists,
	stowagev1.LabelSelectorOperator_LABEL_SELECTOR_OPERATOR_DOES_NOT_EXIST: metav1.LabelSelectorOpDoesNotExist,
}

// selector writes a selector as kubectl does.
func selector(s *stowagev1.LabelSelector) string {
	if s == nil {
		return metav1.FormatLabelSelector(nil)
	}
	out := &metav1.LabelSelector{MatchLabels: s.GetMatchLabels()}
	for _, r := range s.GetMatchExpressions() {
		out.MatchExpressions = append(out.MatchExpressions, metav1.LabelSelectorRequirement{
			Key: r.GetKey(), Operator: labelOperators[r.GetOperator()], Values: r.GetValues(),
		})
	}
	if len(out.MatchLabels)+len(out.MatchExpressions) == 0 {
		return "any label"
	}
	return metav1.FormatLabelSelector(out)
}

// BrokenRule names a rule in a few words.
func BrokenRule(r *stowagev1.PodRule) string {
	switch {
	case r.GetRule() != stowagev1.TopologyRule_TOPOLOGY_RULE_UNSPECIFIED && r.GetTopologyKey() != "":
		return Rule(r.GetRule()) + " by " + r.GetTopologyKey()
	case r.GetResource() != "":
		return Plugin(r.GetPlugin()) + " (" + r.GetResource() + ")"
	}
	return Plugin(r.GetPlugin())
}
