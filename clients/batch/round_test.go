package batch_test

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"time"

	"google.golang.org/grpc/status"
	corev1 "k8s.io/api/core/v1"
	schedulingv1beta1 "k8s.io/api/scheduling/v1beta1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/stowage-scheduler/stowage/clients/batch"
	"github.com/stowage-scheduler/stowage/clients/kube/convert"
	stowagev1 "github.com/stowage-scheduler/stowage/proto/stowage/v1"
)

// greedy is a PodGroup that requests a joint placement and as many steps as the contract allows.
func greedy(pods int32) *schedulingv1beta1.PodGroup {
	g := &schedulingv1beta1.PodGroup{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "g", UID: "g", Annotations: map[string]string{
		convert.PodGroupModeAnnotation: "joint", convert.PodGroupMaxStepsAnnotation: "67108864",
	}}}
	g.Spec.SchedulingPolicy.Gang = &schedulingv1beta1.GangSchedulingPolicy{MinCount: pods}
	return g
}

// A search that does not end has a call of its own with the scheduler's bounds, whatever its PodGroup requests, and others are bound
// while its group backs off.
func TestASearchIsBoundedWhateverItsGroupRequests(t *testing.T) {
	w := start(t, batch.Options{JointTime: 200 * time.Millisecond, MaxJointSteps: 1000}, node("a", "8"), greedy(2))
	w.mutex.Lock()
	w.everyPlace = func(ctx context.Context, r *stowagev1.PlaceRequest) error {
		if len(r.PodGroups) == 0 {
			return nil
		}
		deadline, _ := ctx.Deadline()
		if left := time.Until(deadline); left > 200*time.Millisecond || r.PodGroups[0].GetMaxSteps() != 1000 {
			t.Errorf("the search has %v and %d steps", left, r.PodGroups[0].GetMaxSteps())
		}
		if slices.ContainsFunc(r.Queue, func(p *stowagev1.PendingPods) bool { return p.PodGroup == "" }) {
			t.Error("other pods wait for the search")
		}
		<-ctx.Done()
		return status.FromContextError(ctx.Err()).Err()
	}
	w.mutex.Unlock()
	w.create(inPodGroup(pod("g-1")), inPodGroup(pod("g-2")))
	w.waits("g-1", "no decision within 200ms")
	w.because("g-1", corev1.PodReasonSchedulerError)
	w.create(inPodGroup(pod("g-3")), pod("one"), pod("two"), pod("three"))
	w.bound("one", "two", "three")
}

// Pods of others are bound although a group of 240 pods, each of which requires the next one of a ring in its zone, requests a search of
// 67 million steps again and again.
func TestOthersAreBoundBesideARingOfAffinity(t *testing.T) {
	if testing.Short() {
		t.Skip("takes some seconds")
	}
	const ring = 240
	w := start(t, batch.Options{}, greedy(ring))
	for i := range 60 {
		if _, err := w.api.CoreV1().Nodes().Create(t.Context(), node(fmt.Sprint("n", i), "4"), metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	var pods []*corev1.Pod
	for i := range ring {
		p := inPodGroup(pod(fmt.Sprint("ring-", i)))
		p.Labels = map[string]string{"ring": fmt.Sprint(i)}
		p.Spec.Affinity = &corev1.Affinity{PodAffinity: &corev1.PodAffinity{RequiredDuringSchedulingIgnoredDuringExecution: []corev1.PodAffinityTerm{{
			TopologyKey: corev1.LabelTopologyZone, LabelSelector: &metav1.LabelSelector{MatchLabels: map[string]string{"ring": fmt.Sprint((i + 1) % ring)}},
		}}}}
		pods = append(pods, p)
	}
	w.create(pods...)
	w.waits("ring-0", "")
	begin := time.Now()
	w.create(pod("one"), pod("two"), pod("three"), pod("four"), pod("five"))
	w.bound("one", "two", "three", "four", "five")
	if took := time.Since(begin); took > 10*time.Second { // on an idle machine, half a second at most
		t.Errorf("the pods of others are bound after %v", took)
	} else {
		t.Logf("the pods of others are bound after %v", took)
	}
}
