package audit

import (
	"fmt"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/stowage-scheduler/stowage/clients/answer"
	"github.com/stowage-scheduler/stowage/clients/embedded"
	"github.com/stowage-scheduler/stowage/clients/kube"
)

// BenchmarkAudit audits 500 nodes in three zones with 15,000 pods of 300 workloads: a third has hard rules about other pods, a
// third a node selector, and the rest none. One pod of a workload with required anti-affinity is beside another.
func BenchmarkAudit(b *testing.B) {
	client, stop, err := embedded.Dial(b.Context())
	if err != nil {
		b.Fatal(err)
	}
	defer func() { _ = stop() }()
	s := largeCluster(b)
	for b.Loop() {
		found, err := Ask(b.Context(), &answer.Question{Client: client, Snapshot: s}, Options{})
		if err != nil {
			b.Fatal(err)
		}
		if len(found.Findings) != 1 || found.Findings[0].Rule != RuleBroken || found.Findings[0].Pods != 2 {
			b.Fatalf("found %+v", found.Findings[:min(len(found.Findings), 3)])
		}
	}
}

func largeCluster(t testing.TB) *kube.Snapshot {
	b := kube.NewBuilder(kube.Options{})
	const nodes, workloads, replicas = 500, 300, 50
	for i := range nodes {
		name := fmt.Sprintf("node-%03d", i)
		n := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name, UID: "1", Labels: map[string]string{
			corev1.LabelHostname: name, corev1.LabelTopologyZone: fmt.Sprintf("zone-%d", i%3), "pool": fmt.Sprintf("pool-%d", i%2),
		}}}
		n.Status.Allocatable = corev1.ResourceList{
			"cpu": resource.MustParse("32"), "memory": resource.MustParse("64Gi"), "pods": resource.MustParse("110"),
		}
		if err := b.AddNode(n); err != nil {
			t.Fatal(err)
		}
	}
	for w := range workloads {
		name := fmt.Sprintf("app-%03d", w)
		selector := &metav1.LabelSelector{MatchLabels: map[string]string{"app": name}}
		spec := corev1.PodSpec{Containers: []corev1.Container{{Name: "c", Resources: corev1.ResourceRequirements{
			Requests: corev1.ResourceList{"cpu": resource.MustParse("250m"), "memory": resource.MustParse("512Mi")},
		}}}}
		switch w % 6 {
		case 0:
			spec.TopologySpreadConstraints = []corev1.TopologySpreadConstraint{{
				MaxSkew: 2, TopologyKey: corev1.LabelTopologyZone, WhenUnsatisfiable: corev1.DoNotSchedule, LabelSelector: selector,
			}}
		case 1:
			spec.Affinity = &corev1.Affinity{PodAntiAffinity: &corev1.PodAntiAffinity{
				RequiredDuringSchedulingIgnoredDuringExecution: []corev1.PodAffinityTerm{{TopologyKey: corev1.LabelHostname, LabelSelector: selector}},
			}}
		case 2, 4:
			spec.NodeSelector = map[string]string{"pool": "pool-0"}
		}
		for r := range replicas {
			node := (w*37/2*2 + 2*r + w%2) % nodes // of pool-0 for even w
			if w == 1 && r == 1 {
				node = 37 // beside the first one
			}
			p := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{
				Namespace: "shop", Name: fmt.Sprintf("%s-%d", name, r), UID: "1", Labels: selector.MatchLabels,
				OwnerReferences: []metav1.OwnerReference{{APIVersion: "apps/v1", Kind: "StatefulSet", Name: name, Controller: new(true)}},
			}, Spec: *spec.DeepCopy()}
			p.Spec.NodeName = fmt.Sprintf("node-%03d", node)
			if err := b.AddPod(p); err != nil {
				t.Fatal(err)
			}
		}
	}
	s, err := b.Build()
	if err != nil {
		t.Fatal(err)
	}
	return s
}
