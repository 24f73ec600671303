package oracle_test

import (
	"errors"
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	schedulerv1 "k8s.io/kube-scheduler/config/v1"

	"github.com/stowage-scheduler/stowage/bench/parity/oracle"
	"github.com/stowage-scheduler/stowage/bench/parity/scenario"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// zoned is a cluster of three nodes in three zones, and pods that keep apart by zone.
func zoned() *scenario.Case {
	c := &scenario.Case{}
	for i := range 3 {
		c.Nodes = append(c.Nodes, &corev1.Node{
			ObjectMeta: metav1.ObjectMeta{
				Name:   fmt.Sprintf("node-%d", i),
				Labels: map[string]string{corev1.LabelTopologyZone: fmt.Sprintf("zone-%d", i)},
			},
			Status: corev1.NodeStatus{Allocatable: corev1.ResourceList{corev1.ResourcePods: resource.MustParse("10")}},
		})
	}
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "redash", Labels: map[string]string{"app": "redash"}}}
	pod.Spec.Containers = []corev1.Container{{Name: "main", Image: "redash"}}
	pod.Spec.Affinity = &corev1.Affinity{PodAntiAffinity: &corev1.PodAntiAffinity{
		RequiredDuringSchedulingIgnoredDuringExecution: []corev1.PodAffinityTerm{{
			LabelSelector: &metav1.LabelSelector{MatchLabels: pod.Labels},
			TopologyKey:   corev1.LabelTopologyZone,
		}},
	}}
	c.Queue = []scenario.Pending{{Pod: pod, Count: 4}}
	return c
}

func newScheduler(t *testing.T, c *scenario.Case) *oracle.Scheduler {
	t.Helper()
	s, err := oracle.New(c)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	return s
}

func TestPlaceUntilNothingIsLeft(t *testing.T) {
	c := zoned()
	got, err := newScheduler(t, c).Place(c.Queue, func(best []uint32) uint32 { return best[len(best)-1] })
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]uint32{2, 1, 0}, got[0].Nodes); diff != "" {
		t.Errorf("nodes (-want +got):\n%s", diff)
	}
	const text = "0/3 nodes are available: 3 node(s) didn't match pod anti-affinity rules."
	if d := got[0].Unplaced; d == nil || d.Message != text {
		t.Errorf("the fourth pod: %+v, want %q", d, text)
	}
}

func TestCandidatesLimitTheDecision(t *testing.T) {
	c := zoned()
	c.Candidates = []string{"node-1"}
	got, err := newScheduler(t, c).Place(c.Queue, func(best []uint32) uint32 { return best[0] })
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]uint32{1}, got[0].Nodes); diff != "" {
		t.Errorf("nodes (-want +got):\n%s", diff)
	}
	const text = "0/1 nodes are available: 1 node(s) didn't match pod anti-affinity rules."
	if d := got[0].Unplaced; d == nil || d.Message != text {
		t.Errorf("the second pod: %+v, want %q", d, text)
	}
}

func TestGatedPodsAreNotDecidedOn(t *testing.T) {
	c := zoned()
	c.Queue[0].Pod.Spec.SchedulingGates = []corev1.PodSchedulingGate{{Name: "wait"}}
	s := newScheduler(t, c)
	d, err := s.Decide(s.Queue[0])
	if err != nil {
		t.Fatal(err)
	}
	if d.Gate == nil || d.Gate.Plugin != "SchedulingGates" || d.Verdicts != nil {
		t.Errorf("got %+v", d)
	}
}

func TestWhatTheAPIServerRefusesIsNotDecidedOn(t *testing.T) {
	c := zoned()
	c.Queue[0].Pod.Spec.Containers = nil
	var invalid *oracle.InvalidError
	if _, err := oracle.New(c); !errors.As(err, &invalid) {
		t.Errorf("got %v", err)
	}
	c = zoned()
	weight := int32(101)
	c.Config.InterPodAffinity = &schedulerv1.InterPodAffinityArgs{HardPodAffinityWeight: &weight}
	var invalidConfig *oracle.InvalidConfigError
	if _, err := oracle.New(c); !errors.As(err, &invalidConfig) {
		t.Errorf("got %v", err)
	}
}
