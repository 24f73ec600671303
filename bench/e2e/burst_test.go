package e2e

import (
	"context"
	"fmt"
	"os"
	"strconv"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/stowage-scheduler/stowage/bench/e2e/controlplane"
	"github.com/stowage-scheduler/stowage/bench/e2e/stack"
)

// A burst is 200 pods with anti-affinity within their app: 10 apps of 10 pods exclude each other by zone, and there are 5
// zones; 4 apps of 25 pods exclude each other by node, and there are 30 nodes.
const (
	burstNodes, burstZones = 30, 5
	zoneApps, zonePods     = 10, 10
	nodeApps, nodePods     = 4, 25
	burstPods              = zoneApps*zonePods + nodeApps*nodePods
	burstFits              = zoneApps*burstZones + nodeApps*nodePods
)

func burstPod(i int, schedulerName string) *corev1.Pod {
	app, key := fmt.Sprintf("zone-%d", i%zoneApps), corev1.LabelTopologyZone
	if i >= zoneApps*zonePods {
		app, key = fmt.Sprintf("node-%d", i%nodeApps), corev1.LabelHostname
	}
	labels := map[string]string{"app": app, "apart-by": app[:4]}
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprintf("burst-%03d", i), Namespace: "default", Labels: labels},
		Spec: corev1.PodSpec{
			SchedulerName: schedulerName,
			Containers: []corev1.Container{{Name: "main", Image: "registry.example/app:1.0", Resources: corev1.ResourceRequirements{
				Requests: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("100m")},
			}}},
			Affinity: &corev1.Affinity{PodAntiAffinity: &corev1.PodAntiAffinity{
				RequiredDuringSchedulingIgnoredDuringExecution: []corev1.PodAffinityTerm{{
					TopologyKey: key, LabelSelector: &metav1.LabelSelector{MatchLabels: labels},
				}},
			}},
		},
	}
}

// createBurst creates the pods, several at a time. A call that fails is made again: the API server may be away.
func createBurst(ctx context.Context, s *stack.Stack, schedulerName string) error {
	return controlplane.Parallel(ctx, burstPods, func(ctx context.Context, i int) error {
		p := burstPod(i, schedulerName)
		var err error
		for deadline := time.Now().Add(patience); time.Now().Before(deadline) && ctx.Err() == nil; time.Sleep(100 * time.Millisecond) {
			if _, err = s.Client.CoreV1().Pods(p.Namespace).Create(ctx, p, metav1.CreateOptions{}); err == nil {
				return nil
			}
			if _, got := s.Client.CoreV1().Pods(p.Namespace).Get(ctx, p.Name, metav1.GetOptions{}); got == nil {
				return nil // it was created, and the answer was lost
			}
		}
		return err
	})
}

// burst is what became of a burst so far.
type burst struct{ bound, waiting, violations int }

func lookAtBurst(ctx context.Context, s *stack.Stack) (burst, error) {
	nodes, err := s.Client.CoreV1().Nodes().List(ctx, metav1.ListOptions{})
	if err != nil {
		return burst{}, err
	}
	labels := map[string]map[string]string{}
	for _, n := range nodes.Items {
		labels[n.Name] = n.Labels
	}
	pods, err := s.Client.CoreV1().Pods("default").List(ctx, metav1.ListOptions{LabelSelector: "apart-by"})
	if err != nil {
		return burst{}, err
	}
	var b burst
	met := map[string]bool{}
	for i := range pods.Items {
		p := &pods.Items[i]
		on := p.Spec.NodeName
		if on == "" {
			if c := condition(p); c != nil && c.Reason == corev1.PodReasonUnschedulable {
				b.waiting++
			}
			continue
		}
		b.bound++
		domain := p.Labels["app"] + " in " +
			labels[on][p.Spec.Affinity.PodAntiAffinity.RequiredDuringSchedulingIgnoredDuringExecution[0].TopologyKey]
		if met[domain] {
			b.violations++
		}
		met[domain] = true
	}
	return b, nil
}

// endOfBurst waits until everything is bound that fits and the rest is known to wait, and expects no violation.
func endOfBurst(t *testing.T, s *stack.Stack) {
	t.Helper()
	eventually(t, 2*patience, func() error {
		b, err := lookAtBurst(t.Context(), s)
		switch {
		case err != nil:
			return err
		case b.violations > 0:
			t.Fatalf("%+v", b)
		case b.bound != burstFits || b.waiting != burstPods-burstFits:
			return fmt.Errorf("%+v, want %d bound and %d waiting", b, burstFits, burstPods-burstFits)
		}
		return nil
	})
}

// TestBurst has bursts of pods bound, as often as E2E_RUNS says, and expects that no rule is ever violated.
func TestBurst(t *testing.T) {
	s := start(t)
	for _, k := range schedulers[1:] {
		k.start(t, s)
	}
	for _, k := range schedulers[1:] {
		t.Run(k.name, func(t *testing.T) { bursts(t, s, k.pods) })
	}
}

// TestBurstDecidedAtFilter has kube-scheduler bind what stowage-extender has decided before it knows of the binding.
func TestBurstDecidedAtFilter(t *testing.T) {
	s := start(t)
	startServer(t, s)
	must(t, s.StartExtenderAtFilter(t.Context()))
	bursts(t, s, stack.ExtenderPods)
}

// bursts has as many bursts scheduled as E2E_RUNS says.
func bursts(t *testing.T, s *stack.Stack, schedulerName string) {
	t.Helper()
	runs, err := strconv.Atoi(os.Getenv("E2E_RUNS"))
	if err != nil {
		runs = 3
	}
	for run := range runs {
		deleteAll(t, s)
		must(t, controlplane.FakeNodes(t.Context(), s.Client, burstNodes, burstZones))
		begin := time.Now()
		must(t, createBurst(t.Context(), s, schedulerName))
		endOfBurst(t, s)
		t.Logf("run %d of %d: %d bound, %d wait, no violation, %.1f s", run+1, runs, burstFits, burstPods-burstFits,
			time.Since(begin).Seconds())
	}
}
