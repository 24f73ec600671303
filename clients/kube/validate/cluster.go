package validate

import (
	"strings"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	schedulingv1 "k8s.io/api/scheduling/v1"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// node checks labels, taints and amounts of a node (ValidateNode, whose paths of taints are metadata.taints).
func node(n *corev1.Node) field.ErrorList {
	type key struct {
		name   string
		effect corev1.TaintEffect
	}
	out := labels(n.Labels, field.NewPath("metadata", "labels"))
	taken := map[key]bool{}
	for i, t := range n.Spec.Taints {
		at := field.NewPath("spec", "taints").Index(i)
		out = append(out, invalid(at.Child("key"), t.Key, validation.IsQualifiedName(t.Key))...)
		out = append(out, invalid(at.Child("value"), t.Value, validation.IsValidLabelValue(t.Value))...)
		out = append(out, oneOf(at.Child("effect"), t.Effect, corev1.TaintEffectNoSchedule, corev1.TaintEffectPreferNoSchedule, corev1.TaintEffectNoExecute)...)
		if as := (key{t.Key, t.Effect}); taken[as] {
			out = append(out, field.Duplicate(at, t.Key))
		} else {
			taken[as] = true
		}
	}
	allocatable := n.Status.Allocatable
	if allocatable == nil {
		allocatable = n.Status.Capacity // SetDefaults_NodeStatus
	}
	for of, list := range map[string]corev1.ResourceList{"capacity": n.Status.Capacity, "allocatable": allocatable} {
		for name, quantity := range list {
			out = append(out, amount(name, quantity, field.NewPath("status", of, string(name)))...)
		}
	}
	return sorted(out)
}

// budget checks a PodDisruptionBudget (ValidatePodDisruptionBudgetSpec).
func budget(s *policyv1.PodDisruptionBudgetSpec, spec *field.Path) field.ErrorList {
	out := selector(s.Selector, spec.Child("selector"))
	if s.MinAvailable != nil && s.MaxUnavailable != nil {
		out = append(out, field.Invalid(spec, "minAvailable, maxUnavailable", "minAvailable and maxUnavailable cannot be both set"))
	}
	if s.MinAvailable != nil {
		out = append(out, share(s.MinAvailable, true, spec.Child("minAvailable"))...)
	}
	if s.MaxUnavailable != nil {
		out = append(out, share(s.MaxUnavailable, true, spec.Child("maxUnavailable"))...)
	}
	if policy := s.UnhealthyPodEvictionPolicy; policy != nil {
		out = append(out, oneOf(spec.Child("unhealthyPodEvictionPolicy"), *policy, policyv1.IfHealthyBudget, policyv1.AlwaysAllow)...)
	}
	return out
}

// highestUserDefinable is the highest value of a priority class that is not the system's (HighestUserDefinablePriority).
const highestUserDefinable = 1_000_000_000

// priorityClass checks a PriorityClass (ValidatePriorityClass).
func priorityClass(c *schedulingv1.PriorityClass) field.ErrorList {
	var out field.ErrorList
	if c.Value > highestUserDefinable && !strings.HasPrefix(c.Name, "system-") {
		out = append(out, field.Forbidden(field.NewPath("value"), "maximum allowed value of a user defined priority is 1000000000"))
	}
	if c.PreemptionPolicy != nil {
		out = append(out, oneOf(field.NewPath("preemptionPolicy"), *c.PreemptionPolicy, corev1.PreemptLowerPriority, corev1.PreemptNever)...)
	}
	return out
}
