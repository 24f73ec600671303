package remedy

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// unmerge takes the requirements away that the API server makes of matchLabelKeys and mismatchLabelKeys when it creates a pod: they
// are about one revision, and a template must not have them.
func unmerge(spec *corev1.PodSpec) {
	for i := range spec.TopologySpreadConstraints {
		c := &spec.TopologySpreadConstraints[i]
		c.LabelSelector = without(c.LabelSelector, c.MatchLabelKeys)
	}
	each := func(t *corev1.PodAffinityTerm) {
		t.LabelSelector = without(t.LabelSelector, slices.Concat(t.MatchLabelKeys, t.MismatchLabelKeys))
	}
	terms := func(required []corev1.PodAffinityTerm, preferred []corev1.WeightedPodAffinityTerm) {
		for i := range required {
			each(&required[i])
		}
		for i := range preferred {
			each(&preferred[i].PodAffinityTerm)
		}
	}
	if spec.Affinity == nil {
		return
	}
	if a := spec.Affinity.PodAffinity; a != nil {
		terms(a.RequiredDuringSchedulingIgnoredDuringExecution, a.PreferredDuringSchedulingIgnoredDuringExecution)
	}
	if a := spec.Affinity.PodAntiAffinity; a != nil {
		terms(a.RequiredDuringSchedulingIgnoredDuringExecution, a.PreferredDuringSchedulingIgnoredDuringExecution)
	}
}

// without returns a selector without the requirements on keys.
func without(s *metav1.LabelSelector, keys []string) *metav1.LabelSelector {
	if s == nil || len(keys) == 0 {
		return s
	}
	out := s.DeepCopy()
	out.MatchExpressions = slices.DeleteFunc(out.MatchExpressions, func(r metav1.LabelSelectorRequirement) bool {
		return slices.Contains(keys, r.Key)
	})
	if len(out.MatchExpressions) == 0 {
		out.MatchExpressions = nil
	}
	return out
}
