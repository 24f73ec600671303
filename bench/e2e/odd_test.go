package e2e

import (
	"context"
	"fmt"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/stowage-scheduler/stowage/bench/e2e/controlplane"
	"github.com/stowage-scheduler/stowage/bench/e2e/stack"
)

// An odd DaemonSet runs on two of four nodes and leaves one CPU of 32 there. Its pods have preferred node affinity that
// kube-scheduler cannot parse, which the API server allows.
const (
	oddNodes, oddFull = 4, 2
	oddPort           = 8080
)

func oddDaemonSet(schedulerName string) *appsv1.DaemonSet {
	labels := map[string]string{"app": "odd"}
	prefers := func(r corev1.NodeSelectorRequirement) corev1.PreferredSchedulingTerm {
		return corev1.PreferredSchedulingTerm{
			Weight: 1, Preference: corev1.NodeSelectorTerm{MatchExpressions: []corev1.NodeSelectorRequirement{r}},
		}
	}
	var on []string
	for i := range oddFull {
		on = append(on, controlplane.FakeNode(i, 1).Name)
	}
	return &appsv1.DaemonSet{
		ObjectMeta: metav1.ObjectMeta{Name: "odd", Namespace: "default"},
		Spec: appsv1.DaemonSetSpec{
			Selector: &metav1.LabelSelector{MatchLabels: labels},
			Template: corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: labels}, Spec: corev1.PodSpec{
				SchedulerName: schedulerName,
				Containers: []corev1.Container{{
					Name: "main", Image: "registry.example/odd:1.0", Ports: []corev1.ContainerPort{{ContainerPort: oddPort, HostPort: oddPort}},
					Resources: corev1.ResourceRequirements{Requests: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("31")}},
				}},
				Affinity: &corev1.Affinity{NodeAffinity: &corev1.NodeAffinity{
					RequiredDuringSchedulingIgnoredDuringExecution: &corev1.NodeSelector{NodeSelectorTerms: []corev1.NodeSelectorTerm{{
						MatchExpressions: []corev1.NodeSelectorRequirement{
							{Key: corev1.LabelHostname, Operator: corev1.NodeSelectorOpIn, Values: on},
						},
					}}},
					PreferredDuringSchedulingIgnoredDuringExecution: []corev1.PreferredSchedulingTerm{
						prefers(corev1.NodeSelectorRequirement{Key: "disk", Operator: corev1.NodeSelectorOpIn, Values: []string{"ssd,hdd"}}),
						prefers(corev1.NodeSelectorRequirement{Key: "cores", Operator: corev1.NodeSelectorOpGt, Values: []string{"many"}}),
					},
				}},
			}},
		},
	}
}

// beside is a pod that goes where the odd DaemonSet leaves room.
func beside(name, schedulerName, cpu string) *corev1.Pod {
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: "default", Labels: map[string]string{"app": "beside"}},
		Spec: corev1.PodSpec{SchedulerName: schedulerName, Containers: []corev1.Container{{
			Name: "main", Image: "registry.example/app:1.0",
			Resources: corev1.ResourceRequirements{Requests: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse(cpu)}},
		}}},
	}
}

// nodesOf are the nodes of the pods with some labels that are bound, by the pods' names.
func nodesOf(ctx context.Context, s *stack.Stack, labels string) (map[string]string, error) {
	pods, err := s.Client.CoreV1().Pods("default").List(ctx, metav1.ListOptions{LabelSelector: labels})
	if err != nil {
		return nil, err
	}
	out := map[string]string{}
	for _, p := range pods.Items {
		if p.Spec.NodeName != "" {
			out[p.Name] = p.Spec.NodeName
		}
	}
	return out, nil
}

// TestOddDaemonSet schedules a DaemonSet whose preferred node affinity cannot be parsed, by kube-scheduler and then by the
// scheduler under test, together with other pods. What it occupies counts, and the other pods are placed.
func TestOddDaemonSet(t *testing.T) {
	s := start(t)
	for _, k := range schedulers {
		k.start(t, s)
	}
	for _, k := range schedulers[1:] {
		for _, by := range []string{stack.PlainPods, k.pods} {
			t.Run(k.name+", DaemonSet of "+by, func(t *testing.T) {
				deleteAll(t, s)
				must(t, controlplane.FakeNodes(t.Context(), s.Client, oddNodes, 2))
				_, err := s.Client.AppsV1().DaemonSets("default").Create(t.Context(), oddDaemonSet(by), metav1.CreateOptions{})
				must(t, err)
				eventually(t, patience, func() error {
					on, err := nodesOf(t.Context(), s, "app=odd")
					if err == nil && len(on) != oddFull {
						err = fmt.Errorf("the DaemonSet's pods are on %v", on)
					}
					return err
				})
				var pods []*corev1.Pod
				for i := range 20 { // 40 of the 64 CPUs of the other nodes
					pods = append(pods, beside(fmt.Sprintf("big-%d", i), k.pods, "2"))
				}
				port := beside("port", k.pods, "100m")
				port.Spec.Containers[0].Ports = []corev1.ContainerPort{{ContainerPort: oddPort, HostPort: oddPort}}
				small := beside("small", k.pods, "500m")
				small.Spec.NodeSelector = map[string]string{corev1.LabelHostname: controlplane.FakeNode(0, 1).Name}
				pods = append(pods, port, small)
				for _, p := range pods {
					_, err := s.Client.CoreV1().Pods("default").Create(t.Context(), p, metav1.CreateOptions{})
					must(t, err)
				}
				var on map[string]string
				eventually(t, patience, func() (err error) {
					on, err = nodesOf(t.Context(), s, "app=beside")
					if err == nil && len(on) != len(pods) {
						err = fmt.Errorf("of %d pods, %d are bound", len(pods), len(on))
					}
					return err
				})
				full := map[string]bool{}
				for i := range oddFull {
					full[controlplane.FakeNode(i, 1).Name] = true
				}
				for name, node := range on {
					if full[node] != (name == "small") {
						t.Errorf("%s is on %s", name, node)
					}
				}
			})
		}
	}
}
