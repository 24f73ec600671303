package generate

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
)

func (d *draw) nodeSelector() map[string]string {
	selector := map[string]string{}
	for _, key := range some(d, 0.4, "disk", corev1.LabelTopologyRegion) {
		if key == "disk" {
			selector[key] = pick(d, "ssd", "hdd")
		} else {
			selector[key] = pick(d, "r1", "r2")
		}
	}
	return selector
}

func (d *draw) nodeAffinity() *corev1.NodeAffinity {
	a := &corev1.NodeAffinity{}
	if d.chance(0.6) {
		a.RequiredDuringSchedulingIgnoredDuringExecution = d.nodeTerms(true)
	}
	if d.chance(0.6) {
		for range d.between(1, 3) {
			a.PreferredDuringSchedulingIgnoredDuringExecution = append(a.PreferredDuringSchedulingIgnoredDuringExecution,
				corev1.PreferredSchedulingTerm{Weight: int32(d.between(1, 100)), Preference: d.nodeTerm(false)})
		}
	}
	return a
}

func (d *draw) nodeTerms(required bool) *corev1.NodeSelector {
	s := &corev1.NodeSelector{}
	for range d.between(1, 3) {
		s.NodeSelectorTerms = append(s.NodeSelectorTerms, d.nodeTerm(required))
	}
	return s
}

// nodeTerm draws a term. A malformed integer is drawn only in required terms: in a preferred one kube-scheduler fails
// the pod with an internal error, which is not a decision.
func (d *draw) nodeTerm(required bool) corev1.NodeSelectorTerm {
	t := corev1.NodeSelectorTerm{}
	if d.chance(0.03) {
		return t
	}
	expressions := d.between(0, 2)
	for range expressions {
		t.MatchExpressions = append(t.MatchExpressions, d.nodeRequirement(required))
	}
	if expressions == 0 || d.chance(0.1) {
		for range d.between(1, 2) {
			t.MatchFields = append(t.MatchFields, d.nameRequirement())
		}
	}
	return t
}

func (d *draw) nodeRequirement(malformed bool) corev1.NodeSelectorRequirement {
	key := pick(d, "disk", corev1.LabelTopologyZone, corev1.LabelTopologyZone, corev1.LabelTopologyRegion, "generation", "absent")
	values := map[string][]string{
		"disk": {"ssd", "hdd"}, corev1.LabelTopologyZone: zones, corev1.LabelTopologyRegion: {"r1", "r2"}, "generation": integers,
	}[key]
	r := corev1.NodeSelectorRequirement{Key: key}
	switch x := d.Float64(); {
	case key == "generation" && x < 0.7:
		r.Operator = pick(d, corev1.NodeSelectorOpGt, corev1.NodeSelectorOpLt)
		r.Values = []string{pick(d, "2", "4", "1", "0")}
		if malformed && d.chance(0.15) {
			r.Values = []string{pick(d, "x", "", "1.5", "9223372036854775808")}
		}
	case x < 0.6:
		r.Operator = corev1.NodeSelectorOpIn
	case x < 0.8:
		r.Operator = corev1.NodeSelectorOpNotIn
	case x < 0.9:
		r.Operator = corev1.NodeSelectorOpExists
	default:
		r.Operator = corev1.NodeSelectorOpDoesNotExist
	}
	if r.Operator == corev1.NodeSelectorOpIn || r.Operator == corev1.NodeSelectorOpNotIn {
		for range d.between(1, 3) {
			r.Values = append(r.Values, pick(d, append(values, "other")...))
		}
	}
	return r
}

func (d *draw) nameRequirement() corev1.NodeSelectorRequirement {
	r := corev1.NodeSelectorRequirement{Key: "metadata.name", Operator: corev1.NodeSelectorOpIn, Values: []string{d.nodeName()}}
	if d.chance(0.2) {
		r.Operator = corev1.NodeSelectorOpNotIn
	}
	return r
}

// nodeName draws a node's name, now and then one that no node has.
func (d *draw) nodeName() string {
	if d.chance(0.1) || len(d.c.Nodes) == 0 {
		return "elsewhere"
	}
	return fmt.Sprintf("node-%d", d.IntN(len(d.c.Nodes)))
}

// names makes a pod's node affinity such that PreFilter narrows the nodes: each term names nodes.
func (d *draw) narrow(pod *corev1.Pod) {
	if d.chance(0.4) {
		pod.Spec.NodeName = d.nodeName()
		if d.chance(0.5) {
			return
		}
	}
	s := &corev1.NodeSelector{}
	for range d.between(1, 4) {
		t := corev1.NodeSelectorTerm{MatchFields: []corev1.NodeSelectorRequirement{
			{Key: "metadata.name", Operator: corev1.NodeSelectorOpIn, Values: []string{d.nodeName()}},
		}}
		if d.chance(0.15) {
			t.MatchFields = append(t.MatchFields, d.nameRequirement())
		}
		if d.chance(0.3) {
			t.MatchExpressions = append(t.MatchExpressions, d.nodeRequirement(true))
		}
		s.NodeSelectorTerms = append(s.NodeSelectorTerms, t)
	}
	if d.chance(0.05) {
		s.NodeSelectorTerms = append(s.NodeSelectorTerms, corev1.NodeSelectorTerm{})
	}
	affinityOf(pod).NodeAffinity = &corev1.NodeAffinity{RequiredDuringSchedulingIgnoredDuringExecution: s}
}
