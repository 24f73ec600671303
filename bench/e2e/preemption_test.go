package e2e

import (
	"fmt"
	"testing"

	corev1 "k8s.io/api/core/v1"
	schedulingv1 "k8s.io/api/scheduling/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/stowage-scheduler/stowage/bench/e2e/controlplane"
	"github.com/stowage-scheduler/stowage/bench/e2e/stack"
)

// TestPreemptionOnNewNodes creates a pod of high priority for which no node has room, where nodes were added after Stowage
// got its last snapshot. Among the nodes where eviction would make room, only one has no pod of the same app. The pod must
// go there, and pods on other nodes must stay.
func TestPreemptionOnNewNodes(t *testing.T) {
	s := start(t)
	startServer(t, s)
	must(t, s.StartExtender(t.Context()))
	const priority = "high"
	_, err := s.Client.SchedulingV1().PriorityClasses().Create(t.Context(),
		&schedulingv1.PriorityClass{ObjectMeta: metav1.ObjectMeta{Name: priority}, Value: 1000}, metav1.CreateOptions{})
	must(t, err)
	full := func(i int) {
		_, err := s.Client.CoreV1().Nodes().Create(t.Context(), controlplane.FakeNode(i, 3), metav1.CreateOptions{})
		must(t, err)
		low := sized(fmt.Sprintf("low-%d", i), "20", "nobody")
		low.Spec.NodeName = fmt.Sprintf("node-%05d", i)
		create(t, s, low)
	}
	web := func(name string) *corev1.Pod {
		p := sized(name, "1", stack.ExtenderPods)
		p.Labels["app"] = "web"
		p.Spec.Affinity = &corev1.Affinity{PodAntiAffinity: &corev1.PodAntiAffinity{
			RequiredDuringSchedulingIgnoredDuringExecution: []corev1.PodAffinityTerm{{
				TopologyKey: corev1.LabelHostname, LabelSelector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": "web"}},
			}},
		}}
		return p
	}
	full(0)
	create(t, s, web("web-0"))
	bound(t, s, "web-0")
	const nodes, free = 6, 3
	for i := 1; i < nodes; i++ {
		full(i)
		if i != free {
			there := web(fmt.Sprintf("web-%d", i))
			there.Spec.NodeName, there.Spec.SchedulerName = fmt.Sprintf("node-%05d", i), "nobody"
			create(t, s, there)
		}
	}
	// kube-scheduler hears of them on its own.
	eventually(t, patience, func() error {
		for kind, want := range map[string]string{"Node": fmt.Sprint(nodes), "Pod": fmt.Sprint(2*nodes - 1)} {
			if n := metric(t, s.ExtenderMetrics, "stowage_live_objects", `kind="`+kind+`"`); n != want {
				return fmt.Errorf("the extender knows %s of %s objects of kind %s", n, want, kind)
			}
		}
		return nil
	})
	high := web("high")
	high.Spec.PriorityClassName = priority
	high.Spec.Containers[0].Resources.Requests = sized("", "20", "").Spec.Containers[0].Resources.Requests
	create(t, s, high)
	bound(t, s, "high")
	if on, want := get(t, s, "high").Spec.NodeName, fmt.Sprintf("node-%05d", free); on != want {
		t.Errorf("it is on %s, want %s", on, want)
	}
	pods, err := s.Client.CoreV1().Pods("default").List(t.Context(), metav1.ListOptions{})
	must(t, err)
	left := map[string]bool{}
	for _, p := range pods.Items {
		left[p.Name] = p.DeletionTimestamp == nil
	}
	for i := range nodes {
		if name := fmt.Sprintf("low-%d", i); left[name] == (i == free) {
			t.Errorf("%s is left: %t", name, left[name])
		}
	}
}
