package kube

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	stowagev1 "github.com/stowage-scheduler/stowage/proto/stowage/v1"
)

var taintEffects = map[corev1.TaintEffect]stowagev1.TaintEffect{
	corev1.TaintEffectNoSchedule:       stowagev1.TaintEffect_TAINT_EFFECT_NO_SCHEDULE,
	corev1.TaintEffectPreferNoSchedule: stowagev1.TaintEffect_TAINT_EFFECT_PREFER_NO_SCHEDULE,
	corev1.TaintEffectNoExecute:        stowagev1.TaintEffect_TAINT_EFFECT_NO_EXECUTE,
}

var tolerationOperators = map[corev1.TolerationOperator]stowagev1.TolerationOperator{
	"":                        stowagev1.TolerationOperator_TOLERATION_OPERATOR_EQUAL,
	corev1.TolerationOpEqual:  stowagev1.TolerationOperator_TOLERATION_OPERATOR_EQUAL,
	corev1.TolerationOpExists: stowagev1.TolerationOperator_TOLERATION_OPERATOR_EXISTS,
	corev1.TolerationOpLt:     stowagev1.TolerationOperator_TOLERATION_OPERATOR_LT,
	corev1.TolerationOpGt:     stowagev1.TolerationOperator_TOLERATION_OPERATOR_GT,
}

var unsatisfiableActions = map[corev1.UnsatisfiableConstraintAction]stowagev1.UnsatisfiableAction{
	corev1.DoNotSchedule:  stowagev1.UnsatisfiableAction_UNSATISFIABLE_ACTION_DO_NOT_SCHEDULE,
	corev1.ScheduleAnyway: stowagev1.UnsatisfiableAction_UNSATISFIABLE_ACTION_SCHEDULE_ANYWAY,
}

var inclusionPolicies = map[corev1.NodeInclusionPolicy]stowagev1.NodeInclusionPolicy{
	corev1.NodeInclusionPolicyHonor:  stowagev1.NodeInclusionPolicy_NODE_INCLUSION_POLICY_HONOR,
	corev1.NodeInclusionPolicyIgnore: stowagev1.NodeInclusionPolicy_NODE_INCLUSION_POLICY_IGNORE,
}

func (c *converter) taints(ts []corev1.Taint, path *field.Path) []*stowagev1.Taint {
	var out []*stowagev1.Taint
	for i, t := range ts {
		out = append(out, &stowagev1.Taint{
			Key:    t.Key,
			Value:  t.Value,
			Effect: enum(c, taintEffects, t.Effect, path.Index(i).Child("effect")),
		})
	}
	return out
}

func (c *converter) tolerations(ts []corev1.Toleration, path *field.Path) []*stowagev1.Toleration {
	var out []*stowagev1.Toleration
	for i, t := range ts {
		o := &stowagev1.Toleration{
			Key:      t.Key,
			Operator: enum(c, tolerationOperators, t.Operator, path.Index(i).Child("operator")),
			Value:    t.Value,
		}
		if t.Effect != "" {
			o.Effect = enum(c, taintEffects, t.Effect, path.Index(i).Child("effect"))
		}
		out = append(out, o)
	}
	return out
}

func (c *converter) spread(ts []corev1.TopologySpreadConstraint, path *field.Path) []*stowagev1.TopologySpreadConstraint {
	var out []*stowagev1.TopologySpreadConstraint
	for i := range ts {
		t, at := &ts[i], path.Index(i)
		o := &stowagev1.TopologySpreadConstraint{
			MaxSkew:           t.MaxSkew,
			TopologyKey:       t.TopologyKey,
			WhenUnsatisfiable: enum(c, unsatisfiableActions, t.WhenUnsatisfiable, at.Child("whenUnsatisfiable")),
			LabelSelector:     c.labelSelector(t.LabelSelector, at.Child("labelSelector")),
			// kube-scheduler reads these even where the API server has merged them into the selector.
			MatchLabelKeys: slices.Clone(t.MatchLabelKeys),
		}
		if t.MinDomains != nil {
			minDomains := *t.MinDomains
			o.MinDomains = &minDomains
		}
		// Defaults are written out, so that a pod that sets a default shares the template of one that does not.
		o.NodeAffinityPolicy = stowagev1.NodeInclusionPolicy_NODE_INCLUSION_POLICY_HONOR
		if p := t.NodeAffinityPolicy; p != nil {
			o.NodeAffinityPolicy = enum(c, inclusionPolicies, *p, at.Child("nodeAffinityPolicy"))
		}
		o.NodeTaintsPolicy = stowagev1.NodeInclusionPolicy_NODE_INCLUSION_POLICY_IGNORE
		if p := t.NodeTaintsPolicy; p != nil {
			o.NodeTaintsPolicy = enum(c, inclusionPolicies, *p, at.Child("nodeTaintsPolicy"))
		}
		out = append(out, o)
	}
	return out
}
