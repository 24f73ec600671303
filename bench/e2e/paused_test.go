package e2e

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strconv"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	schedulingv1 "k8s.io/api/scheduling/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/stowage-scheduler/stowage/bench/e2e/controlplane"
	"github.com/stowage-scheduler/stowage/bench/e2e/stack"
)

// Pods of some apps, each on a node of its own within its app. The older ones wait to be bound when the leader hangs,
// the newer ones are urgent, so that the next leader places them first.
const (
	pausedNodes, pausedApps = 60, 20
	olderPods, newerPods    = 20, 30 // of each app
)

// TestPausedLeader suspends the leading replica in a burst until another replica has taken over and placed newer pods of the
// same apps. Once it continues, the first replica must bind none of the pods that it had placed. A run takes some 40 s, and
// there are 20, or E2E_RUNS.
func TestPausedLeader(t *testing.T) {
	s := start(t)
	startServer(t, s)
	runs, err := strconv.Atoi(os.Getenv("E2E_RUNS"))
	if err != nil {
		runs = 20
	}
	begin, late := time.Now(), 0
	for run := range runs {
		late += pauseLeader(t, s, run)
	}
	t.Logf("%d times in %.0f s, no violation; %d pods waited for the leaders that hung", runs, time.Since(begin).Seconds(), late)
}

// pauseLeader does so once, and returns how many older pods were not bound when the leader went on.
func pauseLeader(t *testing.T, s *stack.Stack, run int) (late int) {
	t.Helper()
	deleteAll(t, s)
	_, err := s.Client.SchedulingV1().PriorityClasses().Create(t.Context(),
		&schedulingv1.PriorityClass{ObjectMeta: metav1.ObjectMeta{Name: "urgent"}, Value: 1000}, metav1.CreateOptions{})
	must(t, err)
	must(t, controlplane.FakeNodes(t.Context(), s.Client, pausedNodes, 5))
	led := leader(t, s)
	// It binds 20 pods a second, so that what it has decided waits.
	first, _, err := s.NewBatch(t.Context(), fmt.Sprintf("stowage-batch-%d-first", run), "--kube-api-qps=20", "--kube-api-burst=1")
	must(t, err)
	defer first.Kill()
	eventually(t, patience, func() error {
		if now := leader(t, s); now == "" || now == led {
			return fmt.Errorf("%q leads", now)
		}
		return nil
	})
	led = leader(t, s)
	// It binds the newer pods at once, and then 40 a second.
	second, _, err := s.NewBatch(t.Context(), fmt.Sprintf("stowage-batch-%d-second", run), "--kube-api-qps=40",
		fmt.Sprintf("--kube-api-burst=%d", pausedApps*newerPods))
	must(t, err)
	defer second.Stop() // so that the lease is free

	createApps(t, s, "older", olderPods, "")
	untilBound(t, s, "older", 60)
	first.Pause()
	paused := time.Now()
	createApps(t, s, "newer", newerPods, "urgent")
	eventually(t, patience, func() error {
		if now := leader(t, s); now == led {
			return errors.New("the lease is still that of the replica that hangs")
		}
		return nil
	})
	tookOver := time.Since(paused)
	untilBound(t, s, "newer", pausedApps*newerPods)
	late = pausedApps*olderPods - untilBound(t, s, "older", 0)
	if late == 0 {
		t.Error("nothing is left that the replica that hung could bind")
	}
	first.Resume()
	eventually(t, patience, func() error {
		if first.Running() {
			return errors.New("the replica that hung goes on")
		}
		return nil
	})
	untilBound(t, s, "older", pausedApps*olderPods)
	if n := violated(t, s); n > 0 {
		t.Fatalf("%d pairs of pods are on a node that must not be", n)
	}
	t.Logf("run %d: another leads after %.1f s, %d pods waited, no violation, %.1f s", run+1, tookOver.Seconds(), late,
		time.Since(paused).Seconds())
	return late
}

// createApps creates pods of each app that must not share a node with others of their app.
func createApps(t *testing.T, s *stack.Stack, age string, count int, priority string) {
	t.Helper()
	must(t, controlplane.Parallel(t.Context(), pausedApps*count, func(ctx context.Context, i int) error {
		app := map[string]string{"app": fmt.Sprintf("app-%d", i%pausedApps)}
		_, err := s.Client.CoreV1().Pods("default").Create(ctx, &corev1.Pod{
			ObjectMeta: metav1.ObjectMeta{
				Name: fmt.Sprintf("%s-%03d", age, i), Namespace: "default", Labels: map[string]string{"app": app["app"], "age": age},
			},
			Spec: corev1.PodSpec{
				SchedulerName: stack.BatchPods, PriorityClassName: priority,
				Containers: []corev1.Container{{Name: "main", Image: "registry.example/app:1.0", Resources: corev1.ResourceRequirements{
					Requests: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("100m")},
				}}},
				Affinity: &corev1.Affinity{PodAntiAffinity: &corev1.PodAntiAffinity{
					RequiredDuringSchedulingIgnoredDuringExecution: []corev1.PodAffinityTerm{{
						TopologyKey: corev1.LabelHostname, LabelSelector: &metav1.LabelSelector{MatchLabels: app},
					}},
				}},
			},
		}, metav1.CreateOptions{})
		return err
	}))
}

// untilBound waits until the given number of pods of an age is bound, and returns how many are.
func untilBound(t *testing.T, s *stack.Stack, age string, count int) (bound int) {
	t.Helper()
	eventually(t, patience, func() error {
		pods, err := s.Client.CoreV1().Pods("default").List(t.Context(), metav1.ListOptions{LabelSelector: "age=" + age})
		if err != nil {
			return err
		}
		bound = 0
		for i := range pods.Items {
			if pods.Items[i].Spec.NodeName != "" {
				bound++
			}
		}
		if bound < count {
			return fmt.Errorf("%d %s pods are bound, not %d", bound, age, count)
		}
		return nil
	})
	return bound
}

// violated is how many pairs of pods of an app share a node.
func violated(t *testing.T, s *stack.Stack) (pairs int) {
	t.Helper()
	pods, err := s.Client.CoreV1().Pods("default").List(t.Context(), metav1.ListOptions{})
	must(t, err)
	met := map[string]int{}
	for i := range pods.Items {
		p := &pods.Items[i]
		key := p.Labels["app"] + " on " + p.Spec.NodeName
		pairs += met[key]
		met[key]++
	}
	return pairs
}
