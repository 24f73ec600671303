package rollout_test

import (
	"fmt"
	"math/rand/v2"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/stowage-scheduler/stowage/clients/embedded"
	"github.com/stowage-scheduler/stowage/clients/kube"
	"github.com/stowage-scheduler/stowage/clients/kube/change"
	"github.com/stowage-scheduler/stowage/clients/rollout"
	"github.com/stowage-scheduler/stowage/clients/simulate"
	"github.com/stowage-scheduler/stowage/clients/whatif"
)

// TestBounds: at no step are there more pods than maxSurge allows or fewer than maxUnavailable allows, and with room for all the
// rollout is complete.
func TestBounds(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	for range 60 {
		of := &change.Rollout{
			Origin: kube.Origin{Kind: "Deployment", Namespace: "shop", Name: "web"}, Replicas: random.IntN(9),
			New: pod("web-new"), Old: pod("web-old"), MaxSurge: random.IntN(4), Recreate: random.IntN(6) == 0,
		}
		of.Before = random.IntN(9)
		if of.MaxUnavailable = min(random.IntN(4), of.Replicas); of.MaxSurge == 0 {
			of.MaxUnavailable = max(1, of.MaxUnavailable)
		}
		nodes, old, room := cluster(random, of.Before)
		s := simulated(t, nodes, old)
		result := decideIn(t, s, of, old)
		checkBounds(t, of, result, room)
		on := 0
		for _, n := range nodes {
			on += len(s.PodsOn(n.Name))
		}
		if on != result.Placed+result.Old && result.Old == 0 {
			t.Errorf("%+v: %d pods on nodes, %+v", of, on, result)
		}
	}
}

// simulated returns a cluster with pods.
func simulated(t *testing.T, nodes []*corev1.Node, pods []*corev1.Pod) *simulate.Snapshot {
	t.Helper()
	client, stop, err := embedded.Dial(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = stop() })
	snapshot, err := simulate.Objects(nodes, pods)
	if err != nil {
		t.Fatal(err)
	}
	s, err := simulate.New(t.Context(), client, snapshot, simulate.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func decideIn(t *testing.T, s *simulate.Snapshot, of *change.Rollout, old []*corev1.Pod) *whatif.Rollout {
	t.Helper()
	out, err := rollout.Decide(t.Context(), s, of, old, nil, true)
	if err != nil {
		t.Fatalf("%+v: %v", of, err)
	}
	return out
}

func pod(name string) *corev1.Pod {
	p := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: "shop", Labels: map[string]string{"app": "web"}}}
	p.Spec.Containers = []corev1.Container{{Name: "c", Resources: corev1.ResourceRequirements{
		Requests: corev1.ResourceList{"cpu": resource.MustParse("1")},
	}}}
	return p
}

// cluster returns nodes with some old pods, and the number of pods that have room.
func cluster(random *rand.Rand, old int) (nodes []*corev1.Node, pods []*corev1.Pod, room int) {
	for i := range 3 {
		size := random.IntN(7)
		n := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprint("n", i)}}
		n.Status.Allocatable = corev1.ResourceList{
			"cpu": *resource.NewQuantity(int64(size), resource.DecimalSI), "pods": resource.MustParse("99"),
		}
		nodes = append(nodes, n)
		room += size
	}
	for i := range old {
		p := pod(fmt.Sprint("web-old-", i))
		p.Spec.NodeName, p.Status.Phase = nodes[random.IntN(3)].Name, corev1.PodRunning
		pods = append(pods, p)
	}
	return nodes, pods, room
}

func checkBounds(t *testing.T, of *change.Rollout, result *whatif.Rollout, room int) {
	t.Helper()
	old, oldWaiting, fresh, waiting := of.Before, 0, 0, 0
	for _, step := range result.Steps {
		if step.OldRevision {
			old += step.Created
			oldWaiting = step.Waiting
		} else {
			waiting += step.Created - len(step.Placed)
			fresh += len(step.Placed)
		}
		if total := old + fresh + waiting; !step.OldRevision && total > max(of.Replicas+of.MaxSurge, old) {
			t.Fatalf("%+v: %d pods at a time: %+v", of, total, result)
		}
		ready := old - oldWaiting + fresh
		for _, l := range step.Left {
			old--
			if l.Node == "" {
				oldWaiting--
			}
		}
		least := of.Replicas - of.MaxUnavailable
		if after := old - oldWaiting + fresh; !of.Recreate && after < min(least, ready) {
			t.Fatalf("%+v: %d pods are ready: %+v", of, after, result)
		}
		if !step.OldRevision && step.Waiting != waiting {
			t.Fatalf("%+v: %d pods wait: %+v", of, waiting, result)
		}
	}
	if old != result.Old || fresh != result.Placed || result.Complete != (result.Stuck == nil) {
		t.Fatalf("%+v: %d old and %d new pods: %+v", of, old, fresh, result)
	}
	if enough := max(of.Replicas, of.Before) + of.MaxSurge; room >= enough+3*of.Before && !result.Complete {
		t.Fatalf("%+v: not complete with room for %d: %+v", of, room, result)
	}
}
