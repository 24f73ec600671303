package words

import (
	"fmt"
	"slices"
	"strings"

	stowagev1 "github.com/stowage-scheduler/stowage/proto/stowage/v1"
)

// ofSpec describes a change of a pod's spec that names no node.
func ofSpec(c *stowagev1.Change) string {
	switch k := c.GetKind().(type) {
	case *stowagev1.Change_AddedTolerations:
		return tolerations(k.AddedTolerations.GetTolerations())
	case *stowagev1.Change_ChangedNodeRequirement:
		return requirement(k.ChangedNodeRequirement)
	case *stowagev1.Change_RenamedTopologyKey:
		r := k.RenamedTopologyKey
		return fmt.Sprintf("%s instead of %s, which no node has, in its %s", r.GetTo(), r.GetRule().GetTopologyKey(), ruleName(r.GetRule()))
	case *stowagev1.Change_HonoredPolicy:
		policy := "nodeTaintsPolicy"
		if k.HonoredPolicy.GetPolicy() == stowagev1.UncountedReason_UNCOUNTED_REASON_NODE_AFFINITY_POLICY {
			policy = "nodeAffinityPolicy"
		}
		return fmt.Sprintf("%s Honor in its spread by %s", policy, k.HonoredPolicy.GetTopologyKey())
	case *stowagev1.Change_LoweredMinDomains:
		r := k.LoweredMinDomains
		return fmt.Sprintf("minDomains %d instead of %d in its spread by %s", r.GetTo(), r.GetFrom(), r.GetTopologyKey())
	case *stowagev1.Change_AddedMatchLabelKey:
		r := k.AddedMatchLabelKey
		return fmt.Sprintf("%s in matchLabelKeys of its %s by %s", r.GetKey(), ruleName(r.GetRule()), r.GetRule().GetTopologyKey())
	case *stowagev1.Change_AddedNamespace:
		r := k.AddedNamespace
		return fmt.Sprintf("the namespace %s in namespaces of its %s by %s", r.GetAdded(), ruleName(r.GetRule()), r.GetRule().GetTopologyKey())
	case *stowagev1.Change_RemovedSchedulingGates:
		gates := k.RemovedSchedulingGates.GetGates()
		return fmt.Sprintf("no longer the %s %s", Noun("scheduling gate", len(gates)), Names(gates))
	}
	return "something that this release does not know"
}

// ruleName names a kind of rule as the other words for changes do.
func ruleName(r *stowagev1.PodRule) string {
	if r.GetRule() == stowagev1.TopologyRule_TOPOLOGY_RULE_HARD_SPREAD {
		return "spread"
	}
	return Rule(r.GetRule())
}

// Noun returns the singular or plural of a noun.
func Noun(singular string, count int) string {
	if count == 1 {
		return singular
	}
	return singular + "s"
}

func taintNames(taints []*stowagev1.Taint) string {
	var names []string
	for _, t := range taints {
		names = append(names, Taint(t))
	}
	return Names(names)
}

// tolerations describes tolerations by the taints that they tolerate.
func tolerations(all []*stowagev1.Toleration) string {
	var taints []*stowagev1.Taint
	for _, t := range all {
		taints = append(taints, &stowagev1.Taint{Key: t.GetKey(), Value: t.GetValue(), Effect: t.GetEffect()})
	}
	if len(all) == 1 {
		return "a toleration of " + taintNames(taints)
	}
	return "tolerations of " + taintNames(taints)
}

// requirement describes a changed requirement on nodes' labels, and what is wrong with it.
func requirement(r *stowagev1.ChangedNodeRequirement) string {
	where := "its node selector"
	if r.TermIndex != nil {
		where = "its node affinity"
	}
	out := fmt.Sprintf("without %s in %s", nodeRequirement(r.GetFrom()), where)
	if r.GetTo() != nil {
		out = fmt.Sprintf("%s instead of %s in %s", nodeRequirement(r.GetTo()), nodeRequirement(r.GetFrom()), where)
	}
	switch {
	case r.GetUnparsable():
		out += ", which kube-scheduler cannot parse"
	case r.GetMatchingNodeCount() == 0:
		out += ", which no node meets"
	case r.GetContradicts():
		out += ", which contradicts another requirement"
	}
	if len(r.GetValues()) > 1 {
		out += " (or " + Names(r.GetValues()[1:]) + ")"
	}
	return out
}

// NodeTerm writes the requirements of a term on nodes' labels and fields.
func NodeTerm(t *stowagev1.NodeSelectorTerm) string {
	var all []string
	for _, r := range slices.Concat(t.GetMatchExpressions(), t.GetMatchFields()) {
		all = append(all, nodeRequirement(r))
	}
	return strings.Join(all, ",")
}

// nodeRequirement writes a requirement on nodes' labels as kubectl writes selectors.
func nodeRequirement(r *stowagev1.NodeSelectorRequirement) string {
	values := strings.Join(r.GetValues(), ",")
	switch r.GetOperator() {
	case stowagev1.NodeSelectorOperator_NODE_SELECTOR_OPERATOR_IN:
		if len(r.GetValues()) == 1 {
			return r.GetKey() + "=" + values
		}
		return fmt.Sprintf("%s in (%s)", r.GetKey(), values)
	case stowagev1.NodeSelectorOperator_NODE_SELECTOR_OPERATOR_NOT_IN:
		return fmt.Sprintf("%s notin (%s)", r.GetKey(), values)
	case stowagev1.NodeSelectorOperator_NODE_SELECTOR_OPERATOR_DOES_NOT_EXIST:
		return "!" + r.GetKey()
	case stowagev1.NodeSelectorOperator_NODE_SELECTOR_OPERATOR_GT:
		return r.GetKey() + " > " + values
	case stowagev1.NodeSelectorOperator_NODE_SELECTOR_OPERATOR_LT:
		return r.GetKey() + " < " + values
	}
	return r.GetKey()
}
