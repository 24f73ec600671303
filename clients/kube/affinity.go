package kube

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	stowagev1 "github.com/stowage-scheduler/stowage/proto/stowage/v1"
)

// affinity converts a pod's affinity. In a merged pod, the API server has merged matchLabelKeys and mismatchLabelKeys into
// the label selectors and kube-scheduler ignores the keys. In others, the Stowage server merges them.
func (c *converter) affinity(a *corev1.Affinity, merged bool, path *field.Path) *stowagev1.Affinity {
	if a == nil {
		return nil
	}
	out := &stowagev1.Affinity{NodeAffinity: c.nodeAffinity(a.NodeAffinity, path.Child("nodeAffinity"))}
	if p := a.PodAffinity; p != nil {
		out.PodAffinity = c.podAffinity(p.RequiredDuringSchedulingIgnoredDuringExecution,
			p.PreferredDuringSchedulingIgnoredDuringExecution, merged, path.Child("podAffinity"))
	}
	if p := a.PodAntiAffinity; p != nil {
		out.PodAntiAffinity = c.podAffinity(p.RequiredDuringSchedulingIgnoredDuringExecution,
			p.PreferredDuringSchedulingIgnoredDuringExecution, merged, path.Child("podAntiAffinity"))
	}
	if out.NodeAffinity == nil && out.PodAffinity == nil && out.PodAntiAffinity == nil {
		return nil
	}
	return out
}

func (c *converter) nodeAffinity(a *corev1.NodeAffinity, path *field.Path) *stowagev1.NodeAffinity {
	if a == nil {
		return nil
	}
	out := &stowagev1.NodeAffinity{
		Required: c.nodeSelector(a.RequiredDuringSchedulingIgnoredDuringExecution,
			path.Child("requiredDuringSchedulingIgnoredDuringExecution")),
	}
	for i := range a.PreferredDuringSchedulingIgnoredDuringExecution {
		p := &a.PreferredDuringSchedulingIgnoredDuringExecution[i]
		at := path.Child("preferredDuringSchedulingIgnoredDuringExecution").Index(i)
		out.Preferred = append(out.Preferred, &stowagev1.PreferredSchedulingTerm{
			Weight:     p.Weight,
			Preference: c.nodeSelectorTerm(&p.Preference, at.Child("preference")),
		})
	}
	if out.Required == nil && out.Preferred == nil {
		return nil
	}
	return out
}

func (c *converter) podAffinity(required []corev1.PodAffinityTerm, preferred []corev1.WeightedPodAffinityTerm, merged bool,
	path *field.Path,
) *stowagev1.PodAffinity {
	if len(required) == 0 && len(preferred) == 0 {
		return nil
	}
	out := &stowagev1.PodAffinity{}
	for i := range required {
		at := path.Child("requiredDuringSchedulingIgnoredDuringExecution").Index(i)
		out.Required = append(out.Required, c.podAffinityTerm(&required[i], merged, at))
	}
	for i := range preferred {
		at := path.Child("preferredDuringSchedulingIgnoredDuringExecution").Index(i)
		out.Preferred = append(out.Preferred, &stowagev1.WeightedPodAffinityTerm{
			Weight: preferred[i].Weight,
			Term:   c.podAffinityTerm(&preferred[i].PodAffinityTerm, merged, at.Child("podAffinityTerm")),
		})
	}
	return out
}

func (c *converter) podAffinityTerm(t *corev1.PodAffinityTerm, merged bool, path *field.Path) *stowagev1.PodAffinityTerm {
	out := &stowagev1.PodAffinityTerm{
		LabelSelector:     c.labelSelector(t.LabelSelector, path.Child("labelSelector")),
		Namespaces:        slices.Clone(t.Namespaces),
		NamespaceSelector: c.labelSelector(t.NamespaceSelector, path.Child("namespaceSelector")),
		TopologyKey:       t.TopologyKey,
	}
	if !merged {
		out.MatchLabelKeys = slices.Clone(t.MatchLabelKeys)
		out.MismatchLabelKeys = slices.Clone(t.MismatchLabelKeys)
	}
	return out
}
