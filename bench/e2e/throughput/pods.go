package main

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

const zones = 10

// kind is a kind of pods to be bound.
type kind struct {
	name string
	// perApp is how many pods have the same labels, and the rule among them.
	perApp int
	rule   func(spec *corev1.PodSpec, own *metav1.LabelSelector)
	// holds reports whether the pods of one app in each zone satisfy the rule; nil if the rule is a preference.
	holds func(perZone map[string]int) bool
}

var kinds = []kind{
	{
		name: "zone anti-affinity", perApp: zones,
		rule: func(spec *corev1.PodSpec, own *metav1.LabelSelector) {
			spec.Affinity = &corev1.Affinity{PodAntiAffinity: &corev1.PodAntiAffinity{
				RequiredDuringSchedulingIgnoredDuringExecution: []corev1.PodAffinityTerm{{TopologyKey: corev1.LabelTopologyZone, LabelSelector: own}},
			}}
		},
		holds: func(perZone map[string]int) bool {
			for _, n := range perZone {
				if n > 1 {
					return false
				}
			}
			return true
		},
	},
	{
		name: "zone spread", perApp: 50,
		rule: func(spec *corev1.PodSpec, own *metav1.LabelSelector) {
			spec.TopologySpreadConstraints = []corev1.TopologySpreadConstraint{{
				MaxSkew: 1, TopologyKey: corev1.LabelTopologyZone, WhenUnsatisfiable: corev1.DoNotSchedule, LabelSelector: own,
			}}
		},
		holds: func(perZone map[string]int) bool {
			least, most := perZone["zone-0"], 0
			for i := range zones {
				n := perZone[fmt.Sprintf("zone-%d", i)]
				least, most = min(least, n), max(most, n)
			}
			return most-least <= 1
		},
	},
	{
		name: "preferred affinity", perApp: 50,
		rule: func(spec *corev1.PodSpec, own *metav1.LabelSelector) {
			spec.Affinity = &corev1.Affinity{PodAffinity: &corev1.PodAffinity{
				PreferredDuringSchedulingIgnoredDuringExecution: []corev1.WeightedPodAffinityTerm{{
					Weight: 100, PodAffinityTerm: corev1.PodAffinityTerm{TopologyKey: corev1.LabelTopologyZone, LabelSelector: own},
				}},
			}}
		},
	},
}

// pod is one of a kind's pods.
func (k kind) pod(i int, schedulerName string) *corev1.Pod {
	labels := map[string]string{"app": fmt.Sprintf("app-%d", i/k.perApp), "throughput": "pod"}
	p := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprintf("pod-%05d", i), Namespace: "default", Labels: labels},
		Spec: corev1.PodSpec{
			SchedulerName: schedulerName,
			Containers: []corev1.Container{{Name: "main", Image: "registry.example/app:1.0", Resources: corev1.ResourceRequirements{
				Requests: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("100m"), corev1.ResourceMemory: resource.MustParse("128Mi")},
			}}},
		},
	}
	k.rule(&p.Spec, &metav1.LabelSelector{MatchLabels: labels})
	return p
}
