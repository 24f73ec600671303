package kube

import (
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	stowagev1 "github.com/stowage-scheduler/stowage/proto/stowage/v1"
)

var labelOperators = map[metav1.LabelSelectorOperator]stowagev1.LabelSelectorOperator{
	metav1.LabelSelectorOpIn:           stowagev1.LabelSelectorOperator_LABEL_SELECTOR_OPERATOR_IN,
	metav1.LabelSelectorOpNotIn:        stowagev1.LabelSelectorOperator_LABEL_SELECTOR_OPERATOR_NOT_IN,
	metav1.LabelSelectorOpExists:       stowagev1.LabelSelectorOperator_LABEL_SELECTOR_OPERATOR_EXISTS,
	metav1.LabelSelectorOpDoesNotExist: stowagev1.LabelSelectorOperator_LABEL_SELECTOR_OPERATOR_DOES_NOT_EXIST,
}

var nodeOperators = map[corev1.NodeSelectorOperator]stowagev1.NodeSelectorOperator{
	corev1.NodeSelectorOpIn:           stowagev1.NodeSelectorOperator_NODE_SELECTOR_OPERATOR_IN,
	corev1.NodeSelectorOpNotIn:        stowagev1.NodeSelectorOperator_NODE_SELECTOR_OPERATOR_NOT_IN,
	corev1.NodeSelectorOpExists:       stowagev1.NodeSelectorOperator_NODE_SELECTOR_OPERATOR_EXISTS,
	corev1.NodeSelectorOpDoesNotExist: stowagev1.NodeSelectorOperator_NODE_SELECTOR_OPERATOR_DOES_NOT_EXIST,
	corev1.NodeSelectorOpGt:           stowagev1.NodeSelectorOperator_NODE_SELECTOR_OPERATOR_GT,
	corev1.NodeSelectorOpLt:           stowagev1.NodeSelectorOperator_NODE_SELECTOR_OPERATOR_LT,
}

// labelSelector converts a selector; nil, which selects nothing, stays nil.
func (c *converter) labelSelector(s *metav1.LabelSelector, path *field.Path) *stowagev1.LabelSelector {
	if s == nil {
		return nil
	}
	out := &stowagev1.LabelSelector{MatchLabels: maps.Clone(s.MatchLabels)}
	for i, r := range s.MatchExpressions {
		out.MatchExpressions = append(out.MatchExpressions, &stowagev1.LabelSelectorRequirement{
			Key:      r.Key,
			Operator: enum(c, labelOperators, r.Operator, path.Child("matchExpressions").Index(i).Child("operator")),
			Values:   slices.Clone(r.Values),
		})
	}
	return out
}

// nodeSelector converts a node selector; one without terms selects no node, nil every node.
func (c *converter) nodeSelector(s *corev1.NodeSelector, path *field.Path) *stowagev1.NodeSelector {
	if s == nil {
		return nil
	}
	out := &stowagev1.NodeSelector{}
	for i := range s.NodeSelectorTerms {
		out.Terms = append(out.Terms, c.nodeSelectorTerm(&s.NodeSelectorTerms[i], path.Child("nodeSelectorTerms").Index(i)))
	}
	return out
}

func (c *converter) nodeSelectorTerm(t *corev1.NodeSelectorTerm, path *field.Path) *stowagev1.NodeSelectorTerm {
	return &stowagev1.NodeSelectorTerm{
		MatchExpressions: c.nodeRequirements(t.MatchExpressions, path.Child("matchExpressions")),
		MatchFields:      c.nodeRequirements(t.MatchFields, path.Child("matchFields")),
	}
}

func (c *converter) nodeRequirements(rs []corev1.NodeSelectorRequirement, path *field.Path) []*stowagev1.NodeSelectorRequirement {
	var out []*stowagev1.NodeSelectorRequirement
	for i, r := range rs {
		out = append(out, &stowagev1.NodeSelectorRequirement{
			Key:      r.Key,
			Operator: enum(c, nodeOperators, r.Operator, path.Index(i).Child("operator")),
			Values:   slices.Clone(r.Values),
		})
	}
	return out
}
