package controller

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/selection"
)

// operators are the operators of requirements on labels.
var operators = map[corev1.NodeSelectorOperator]selection.Operator{
	corev1.NodeSelectorOpIn:           selection.In,
	corev1.NodeSelectorOpNotIn:        selection.NotIn,
	corev1.NodeSelectorOpExists:       selection.Exists,
	corev1.NodeSelectorOpDoesNotExist: selection.DoesNotExist,
	corev1.NodeSelectorOpGt:           selection.GreaterThan,
	corev1.NodeSelectorOpLt:           selection.LessThan,
}

// admits reports whether a node matches the node selector and the required node affinity of pods
// (k8s.io/component-helpers/scheduling/corev1/nodeaffinity GetRequiredNodeAffinity, v0.37). component-helpers would be one more module for
// everything that imports this one.
func admits(spec *corev1.PodSpec, node *corev1.Node) bool {
	if !labels.SelectorFromSet(spec.NodeSelector).Matches(labels.Set(node.Labels)) {
		return false
	}
	if spec.Affinity == nil || spec.Affinity.NodeAffinity == nil {
		return true
	}
	required := spec.Affinity.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution
	if required == nil {
		return true
	}
	for i := range required.NodeSelectorTerms {
		if t := &required.NodeSelectorTerms[i]; len(t.MatchExpressions)+len(t.MatchFields) > 0 && meets(t, node) {
			return true
		}
	}
	return false
}

// meets reports whether a node meets all requirements of a term. It meets none that is invalid.
func meets(t *corev1.NodeSelectorTerm, node *corev1.Node) bool {
	for _, e := range t.MatchExpressions {
		r, err := labels.NewRequirement(e.Key, operators[e.Operator], e.Values)
		if err != nil || !r.Matches(labels.Set(node.Labels)) {
			return false
		}
	}
	for _, f := range t.MatchFields {
		if f.Key != metav1.ObjectNameField || len(f.Values) != 1 {
			return false
		}
		switch is := f.Values[0] == node.Name; f.Operator {
		case corev1.NodeSelectorOpIn:
			if !is {
				return false
			}
		case corev1.NodeSelectorOpNotIn:
			if is {
				return false
			}
		default:
			return false
		}
	}
	return true
}
