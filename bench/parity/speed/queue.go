package speed

import (
	"fmt"
	"math/rand/v2"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/stowage-scheduler/stowage/clients/kube/convert"
	stowagev1 "github.com/stowage-scheduler/stowage/proto/stowage/v1"
)

// Racks, as domains of four nodes of the big cluster.
const (
	smallRack  = "example.com/small-rack"
	smallRacks = 1250
)

// queueOrder returns the template of each pod of the queue, as an index below templates.
func queueOrder(templates int) []int {
	rng := rand.New(rand.NewPCG(1, 2))
	order := make([]int, queueLength)
	for i := range order {
		order[i] = rng.IntN(templates)
	}
	return order
}

func queueTemplates(n int, racks bool) ([]*stowagev1.PodTemplate, error) {
	var out []*stowagev1.PodTemplate
	for i := range n {
		pod, err := convert.PendingPod(queuePod(i, n, racks))
		if err != nil {
			return nil, err
		}
		out = append(out, pod.GetTemplate())
	}
	return out, nil
}

// queuePod is a pod of the i-th of n templates. It is of an application that has pods on the cluster. A single template
// prefers to be apart by zone and is spread softly; of many, a third has required affinity or anti-affinity by zone, a
// third is spread, and a third is plain.
func queuePod(i, n int, racks bool) *corev1.Pod {
	own := &metav1.LabelSelector{MatchLabels: map[string]string{"app": fmt.Sprintf("app-%03d", i+2)}}
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Name: fmt.Sprint("pod-", i), Namespace: []string{"default", "apps"}[i%2],
			Labels: map[string]string{"app": own.MatchLabels["app"], "tier": fmt.Sprint("tier-", i%5)},
		},
		Spec: corev1.PodSpec{Containers: []corev1.Container{{
			Name: "main", Image: "example.com/" + own.MatchLabels["app"] + ":v1",
			Resources: corev1.ResourceRequirements{Requests: corev1.ResourceList{
				corev1.ResourceCPU:    *resource.NewMilliQuantity(int64(100+50*(i%10)), resource.DecimalSI),
				corev1.ResourceMemory: *resource.NewQuantity(256<<20, resource.BinarySI),
			}},
		}}},
	}
	zone := func(of *metav1.LabelSelector) corev1.PodAffinityTerm {
		return corev1.PodAffinityTerm{TopologyKey: corev1.LabelTopologyZone, LabelSelector: of}
	}
	spread := func(key string, skew int32, action corev1.UnsatisfiableConstraintAction) {
		pod.Spec.TopologySpreadConstraints = append(pod.Spec.TopologySpreadConstraints, corev1.TopologySpreadConstraint{
			TopologyKey: key, MaxSkew: skew, WhenUnsatisfiable: action, LabelSelector: own,
		})
	}
	switch {
	case n == 1:
		pod.Spec.Affinity = &corev1.Affinity{PodAntiAffinity: &corev1.PodAntiAffinity{
			PreferredDuringSchedulingIgnoredDuringExecution: []corev1.WeightedPodAffinityTerm{{Weight: 100, PodAffinityTerm: zone(own)}},
		}}
		spread(corev1.LabelTopologyZone, 5, corev1.ScheduleAnyway)
		spread(corev1.LabelHostname, 3, corev1.ScheduleAnyway)
	case i%6 == 0:
		pod.Spec.Affinity = &corev1.Affinity{PodAffinity: &corev1.PodAffinity{
			RequiredDuringSchedulingIgnoredDuringExecution: []corev1.PodAffinityTerm{zone(own)},
		}}
	case i%6 == 3:
		canary := &metav1.LabelSelector{MatchLabels: map[string]string{"app": "canary"}}
		term := zone(canary)
		term.Namespaces = []string{"apps"}
		pod.Spec.Affinity = &corev1.Affinity{PodAntiAffinity: &corev1.PodAntiAffinity{
			RequiredDuringSchedulingIgnoredDuringExecution: []corev1.PodAffinityTerm{term},
		}}
	case i%3 == 1:
		spread(corev1.LabelTopologyZone, 5, corev1.DoNotSchedule)
		spread(corev1.LabelHostname, 3, corev1.ScheduleAnyway)
	}
	if racks && i%3 <= 1 {
		spread(smallRack, 1, corev1.ScheduleAnyway)
	}
	return pod
}
