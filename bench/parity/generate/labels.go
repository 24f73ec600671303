package generate

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// vocabulary of pods' labels. The empty string is a value like any other.
var podLabelValues = map[string][]string{
	"app":               {"a", "b", "c"},
	"tier":              {"x", "y", ""},
	"pod-template-hash": {"h1", "h2"},
	podIndex:            {"0", "1"},
}

// podIndex is a label that each pod of a StatefulSet has its own value of, and that clients/kube therefore states beside
// the template.
const podIndex = "apps.kubernetes.io/pod-index"

var podLabelKeys = []string{"app", "tier", "pod-template-hash"}

func (d *draw) podLabels() map[string]string {
	if d.chance(0.05) {
		return nil
	}
	labels := map[string]string{}
	for _, key := range some(d, 0.7, podLabelKeys...) {
		labels[key] = pick(d, podLabelValues[key]...)
	}
	if d.chance(0.15) {
		labels[podIndex] = pick(d, podLabelValues[podIndex]...)
	}
	return labels
}

// podSelector draws a selector of pods: nil, empty, or of labels that pods have or lack. Selectors that match about
// half of the pods are the most frequent ones.
func (d *draw) podSelector() *metav1.LabelSelector {
	switch x := d.Float64(); {
	case x < 0.04:
		return nil
	case x < 0.09:
		return &metav1.LabelSelector{}
	case x < 0.55:
		key := pick(d, podLabelKeys...)
		return &metav1.LabelSelector{MatchLabels: map[string]string{key: pick(d, podLabelValues[key]...)}}
	}
	s := &metav1.LabelSelector{}
	if d.chance(0.3) {
		s.MatchLabels = map[string]string{"app": pick(d, podLabelValues["app"]...)}
	}
	for range d.between(1, 2) {
		key := pick(d, "app", "tier", "pod-template-hash", podIndex, "absent")
		s.MatchExpressions = append(s.MatchExpressions, d.expression(key, append(podLabelValues[key], "other")))
	}
	return s
}

func (d *draw) expression(key string, values []string) metav1.LabelSelectorRequirement {
	r := metav1.LabelSelectorRequirement{Key: key, Operator: pick(d, metav1.LabelSelectorOpIn, metav1.LabelSelectorOpIn,
		metav1.LabelSelectorOpNotIn, metav1.LabelSelectorOpExists, metav1.LabelSelectorOpDoesNotExist)}
	if r.Operator == metav1.LabelSelectorOpIn || r.Operator == metav1.LabelSelectorOpNotIn {
		for range d.between(1, 2) {
			r.Values = append(r.Values, pick(d, values...))
		}
	}
	return r
}

// topologyKey draws a key that all, most, some or no nodes have.
func (d *draw) topologyKey() string {
	if d.chance(0.03) {
		return "nowhere"
	}
	return pick(d, corev1.LabelHostname, corev1.LabelHostname, corev1.LabelTopologyZone, corev1.LabelTopologyZone,
		corev1.LabelTopologyZone, corev1.LabelTopologyRegion, "rack")
}
