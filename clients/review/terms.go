package review

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// termKind is a list of terms.
type termKind struct {
	anti, required bool
}

// terms reviews the terms of pod affinity and anti-affinity.
func (p *podReview) terms() {
	a := p.of.Pod.Spec.Affinity
	if a == nil {
		return
	}
	at := p.of.Path.Child("affinity")
	if a.PodAffinity != nil {
		p.termsOf(termKind{}, at.Child("podAffinity"), a.PodAffinity.RequiredDuringSchedulingIgnoredDuringExecution,
			a.PodAffinity.PreferredDuringSchedulingIgnoredDuringExecution)
	}
	if a.PodAntiAffinity != nil {
		p.termsOf(termKind{anti: true}, at.Child("podAntiAffinity"), a.PodAntiAffinity.RequiredDuringSchedulingIgnoredDuringExecution,
			a.PodAntiAffinity.PreferredDuringSchedulingIgnoredDuringExecution)
	}
}

func (p *podReview) termsOf(
	k termKind, at *field.Path, required []corev1.PodAffinityTerm, preferred []corev1.WeightedPodAffinityTerm,
) {
	for i := range required {
		k.required = true
		p.term(k, at.Child("requiredDuringSchedulingIgnoredDuringExecution").Index(i), &required[i])
	}
	for i := range preferred {
		k.required = false
		p.term(k, at.Child("preferredDuringSchedulingIgnoredDuringExecution").Index(i).Child("podAffinityTerm"),
			&preferred[i].PodAffinityTerm)
	}
}

// effect is the consequence of a term that no pod or no node can meet.
func (k termKind) effect() (Severity, string) {
	switch {
	case k.required && !k.anti:
		return Broken, "no node can take the pod"
	case k.required:
		return Warning, "the term separates no pods"
	}
	return Note, "the preference has no effect"
}

func (p *podReview) term(k termKind, at *field.Path, t *corev1.PodAffinityTerm) {
	severity, effect := k.effect()
	switch known := p.topologyKey(t.TopologyKey, at, severity, effect); {
	case !known || !k.required:
	case k.anti:
		p.inPart(t.TopologyKey, at, "the term separates no pods on these nodes")
	default:
		p.inPart(t.TopologyKey, at, "the pod is never placed on these nodes")
	}
	selectorPath := at.Child("labelSelector")
	selector, ok := p.selector(t.LabelSelector, selectorPath, severity, effect)
	if !ok {
		return
	}
	if t.LabelSelector == nil {
		p.find(severity, SelectsNoPod, selectorPath, "without a selector the term selects no pod: %s", effect)
		return
	}
	for i, name := range t.Namespaces {
		if _, there := p.namespaces[name]; p.whole && !there {
			p.find(Warning, Namespace, at.Child("namespaces").Index(i), "there is no namespace %s", name)
		}
	}
	namespaces, ok := p.namespacesOf(t)
	if !ok || p.options.PodsUnknown || p.selectsAny(namespaces, selector) {
		return
	}
	if severity == Warning {
		severity = Note // the pods to avoid may be created later
	}
	p.find(severity, SelectsNoPod, selectorPath, "%s selects no pod in %s: %s",
		metav1.FormatLabelSelector(t.LabelSelector), named(namespaces), effect)
}

func named(namespaces []string) string {
	if len(namespaces) == 1 {
		return "namespace " + namespaces[0]
	}
	return "namespaces " + list(namespaces)
}

// selectsAny reports whether a selector selects a pod of namespaces: the pod itself, others, or pods that workloads would create.
func (p *podReview) selectsAny(namespaces []string, selector labels.Selector) bool {
	return slices.ContainsFunc(namespaces, func(name string) bool {
		if name == p.of.Namespace && selector.Matches(labels.Set(p.of.Pod.Labels)) {
			return true
		}
		return p.selects(name, selector)
	})
}

// namespacesOf returns the sorted namespaces of a term. ok is false if they are unknown, or if there are none.
func (p *podReview) namespacesOf(t *corev1.PodAffinityTerm) (names []string, ok bool) {
	if len(t.Namespaces) == 0 && t.NamespaceSelector == nil {
		return []string{p.of.Namespace}, true
	}
	names = slices.Clone(t.Namespaces)
	if t.NamespaceSelector != nil {
		selector, err := metav1.LabelSelectorAsSelector(t.NamespaceSelector)
		if err != nil || !p.whole {
			return nil, false
		}
		for name, l := range p.Reviewer.namespaces {
			if selector.Matches(l) {
				names = append(names, name)
			}
		}
	}
	slices.Sort(names)
	names = slices.Compact(names)
	return names, len(names) > 0
}
