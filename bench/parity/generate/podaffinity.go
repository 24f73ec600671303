package generate

import (
	corev1 "k8s.io/api/core/v1"
)

func affinityOf(pod *corev1.Pod) *corev1.Affinity {
	if pod.Spec.Affinity == nil {
		pod.Spec.Affinity = &corev1.Affinity{}
	}
	return pod.Spec.Affinity
}

func (d *draw) podAffinity(pod *corev1.Pod) {
	// Required affinity refuses nearly everything when it is drawn blindly, so it is the rarest, and mostly asks for
	// what the pod itself is: then either a domain has it or the first-pod rule holds.
	if d.chance(0.35) {
		a := &corev1.PodAffinity{}
		if d.chance(0.6) {
			for range d.oneOrMore(2) {
				term := d.podTerm()
				if len(pod.Labels) > 0 && d.chance(0.6) && term.LabelSelector != nil {
					term.LabelSelector.MatchExpressions = nil
					term.LabelSelector.MatchLabels = map[string]string{}
					for _, key := range podLabelKeys {
						if v, ok := pod.Labels[key]; ok && d.chance(0.5) {
							term.LabelSelector.MatchLabels[key] = v
						}
					}
					d.labelKeys(&term)
				}
				a.RequiredDuringSchedulingIgnoredDuringExecution = append(a.RequiredDuringSchedulingIgnoredDuringExecution, term)
			}
		}
		a.PreferredDuringSchedulingIgnoredDuringExecution = d.preferredPodTerms()
		affinityOf(pod).PodAffinity = a
	}
	if d.chance(0.7) {
		a := &corev1.PodAntiAffinity{}
		if d.chance(0.7) {
			for range d.oneOrMore(3) {
				a.RequiredDuringSchedulingIgnoredDuringExecution = append(a.RequiredDuringSchedulingIgnoredDuringExecution, d.podTerm())
			}
		}
		a.PreferredDuringSchedulingIgnoredDuringExecution = d.preferredPodTerms()
		affinityOf(pod).PodAntiAffinity = a
	}
}

func (d *draw) preferredPodTerms() []corev1.WeightedPodAffinityTerm {
	var out []corev1.WeightedPodAffinityTerm
	for d.chance(0.45) {
		out = append(out, corev1.WeightedPodAffinityTerm{Weight: int32(d.between(1, 100)), PodAffinityTerm: d.podTerm()})
	}
	return out
}

func (d *draw) podTerm() corev1.PodAffinityTerm {
	t := corev1.PodAffinityTerm{LabelSelector: d.podSelector(), TopologyKey: d.topologyKey()}
	if d.chance(0.2) {
		t.Namespaces = some(d, 0.5, podNamespaces...)
	}
	if d.chance(0.25) {
		t.NamespaceSelector = d.namespaceSelector()
	}
	d.labelKeys(&t)
	return t
}

// labelKeys gives the term matchLabelKeys and mismatchLabelKeys that its selector leaves free, as the API requires.
func (d *draw) labelKeys(t *corev1.PodAffinityTerm) {
	t.MatchLabelKeys, t.MismatchLabelKeys = nil, nil
	if t.LabelSelector == nil || !d.chance(0.2) {
		return
	}
	free := d.freeKeys(t.LabelSelector)
	if len(free) > 0 {
		key := pick(d, free...)
		if d.chance(0.5) {
			t.MatchLabelKeys = []string{key}
		} else {
			t.MismatchLabelKeys = []string{key}
		}
	}
}

// oneOrMore returns mostly 1 and at most n.
func (d *draw) oneOrMore(n int) int {
	if d.chance(0.7) {
		return 1
	}
	return d.between(1, n)
}
