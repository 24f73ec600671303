package generate

import (
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/stowage-scheduler/stowage/bench/parity/scenario"
)

// unreadable are no label values: the API server lets them stand in preferred node affinity, and elsewhere in pods that
// older releases stored.
var unreadable = []string{
	"ssd,hdd", "a b", "-1", "x/y", "_", "trailing-", "ümlaut", `"quoted"`, "tab\there", "%s", "<a&b>",
	strings.Repeat("x", 64), strings.Repeat("y", 63) + "-",
}

// odd makes something in the pod unreadable to kube-scheduler, which the API server accepts, or has accepted.
func (d *draw) odd(pod *corev1.Pod) {
	if d.chance(0.6) {
		d.oddPreferences(pod)
	}
	if d.chance(0.6) {
		d.oddOfOlderReleases(pod)
	}
}

// oddPreferences are in preferred node affinity, where a new pod may have them.
func (d *draw) oddPreferences(pod *corev1.Pod) {
	if a := affinityOf(pod); a.NodeAffinity == nil {
		a.NodeAffinity = &corev1.NodeAffinity{}
	}
	a := pod.Spec.Affinity.NodeAffinity
	for len(a.PreferredDuringSchedulingIgnoredDuringExecution) == 0 || d.chance(0.2) {
		a.PreferredDuringSchedulingIgnoredDuringExecution = append(a.PreferredDuringSchedulingIgnoredDuringExecution,
			corev1.PreferredSchedulingTerm{Weight: int32(d.between(1, 100)), Preference: d.nodeTerm(false)})
	}
	for i := range a.PreferredDuringSchedulingIgnoredDuringExecution {
		if i == 0 || d.chance(0.3) {
			d.oddNodeTerm(&a.PreferredDuringSchedulingIgnoredDuringExecution[i].Preference)
		}
	}
}

func (d *draw) oddNodeTerm(t *corev1.NodeSelectorTerm) {
	for d.chance(0.4) || len(t.MatchExpressions) == 0 {
		t.MatchExpressions = append(t.MatchExpressions, d.nodeRequirement(true))
	}
	for i := range t.MatchExpressions {
		if i > 0 && d.chance(0.6) {
			continue
		}
		r := &t.MatchExpressions[i]
		switch r.Operator {
		case corev1.NodeSelectorOpGt, corev1.NodeSelectorOpLt:
			r.Values = []string{pick(d, append(unreadable, "many", "", "1.5", "9223372036854775808")...)}
		case corev1.NodeSelectorOpIn, corev1.NodeSelectorOpNotIn:
			d.oddValues(&r.Values)
		}
	}
}

// oddValues makes one value or several of a list unreadable, now and then the same twice.
func (d *draw) oddValues(values *[]string) {
	at := d.IntN(len(*values))
	(*values)[at] = pick(d, unreadable...)
	for d.chance(0.25) {
		*values = append(*values, pick(d, append(unreadable, (*values)[at])...))
	}
}

// oddOfOlderReleases are in required node affinity and in selectors of pods. A pod has them in one place mostly, and some
// in several.
func (d *draw) oddOfOlderReleases(pod *corev1.Pod) {
	var places []func()
	if a := pod.Spec.Affinity; a != nil {
		if a.NodeAffinity != nil && a.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution != nil {
			terms := a.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution.NodeSelectorTerms
			places = append(places, func() { d.oddNodeTerm(&terms[d.IntN(len(terms))]) })
		}
		for _, terms := range podTerms(a) {
			if len(terms) > 0 {
				places = append(places, func() { d.oddPodTerm(terms[d.IntN(len(terms))]) })
			}
		}
	}
	if constraints := pod.Spec.TopologySpreadConstraints; len(constraints) > 0 {
		places = append(places, func() {
			c := &constraints[d.IntN(len(constraints))]
			c.LabelSelector = d.oddSpreadSelector(c.LabelSelector)
		})
	}
	for i, place := range places {
		if d.chance(1/float64(len(places)-i)) || d.chance(0.15) {
			place()
			if pod.Annotations == nil {
				pod.Annotations = map[string]string{scenario.LongLived: "true"}
			}
			if d.chance(0.7) {
				return
			}
		}
	}
}

// podTerms returns the four lists of terms that pods have about pods.
func podTerms(a *corev1.Affinity) (lists [4][]*corev1.PodAffinityTerm) {
	required := func(at int, terms []corev1.PodAffinityTerm) {
		for i := range terms {
			lists[at] = append(lists[at], &terms[i])
		}
	}
	preferred := func(at int, terms []corev1.WeightedPodAffinityTerm) {
		for i := range terms {
			lists[at] = append(lists[at], &terms[i].PodAffinityTerm)
		}
	}
	if a.PodAffinity != nil {
		required(0, a.PodAffinity.RequiredDuringSchedulingIgnoredDuringExecution)
		preferred(1, a.PodAffinity.PreferredDuringSchedulingIgnoredDuringExecution)
	}
	if a.PodAntiAffinity != nil {
		required(2, a.PodAntiAffinity.RequiredDuringSchedulingIgnoredDuringExecution)
		preferred(3, a.PodAntiAffinity.PreferredDuringSchedulingIgnoredDuringExecution)
	}
	return lists
}

func (d *draw) oddPodTerm(t *corev1.PodAffinityTerm) {
	if d.chance(0.2) {
		t.NamespaceSelector = d.oddSelector(t.NamespaceSelector)
		return
	}
	t.LabelSelector = d.oddSelector(t.LabelSelector)
}

// oddSelector makes an expression of the selector unreadable. Labels that a term of affinity must match were validated
// ever since.
func (d *draw) oddSelector(s *metav1.LabelSelector) *metav1.LabelSelector {
	if s == nil {
		s = &metav1.LabelSelector{}
	}
	values := []string{"a"}
	d.oddValues(&values)
	s.MatchExpressions = append(s.MatchExpressions, metav1.LabelSelectorRequirement{
		// No other requirement has the key: matchLabelKeys may not name one that has.
		Key: "odd", Operator: pick(d, metav1.LabelSelectorOpIn, metav1.LabelSelectorOpNotIn), Values: values,
	})
	return s
}

// oddSpreadSelector makes a requirement unreadable in a way that older releases did not look for in spread constraints.
func (d *draw) oddSpreadSelector(s *metav1.LabelSelector) *metav1.LabelSelector {
	switch x := d.Float64(); {
	case x < 0.3 && s != nil && len(s.MatchLabels) > 0:
		// One only: kube-scheduler goes through them in the random order of a map, and its text names the first.
		s.MatchLabels[pick(d, slices.Sorted(maps.Keys(s.MatchLabels))...)] = pick(d, unreadable...)
		return s
	case x < 0.7:
		return d.oddSelector(s)
	}
	s = d.oddSelector(s)
	r := &s.MatchExpressions[len(s.MatchExpressions)-1]
	switch {
	case d.chance(0.6):
		r.Key = pick(d, "a b", "/x", "Upper.example/x", "x/y/z", "-", strings.Repeat("x", 64))
	case d.chance(0.5):
		r.Values = nil
	default:
		r.Operator = pick(d, metav1.LabelSelectorOpExists, metav1.LabelSelectorOpDoesNotExist)
	}
	return s
}
