package oracle_test

import (
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"

	"github.com/stowage-scheduler/stowage/bench/parity/oracle"
	"github.com/stowage-scheduler/stowage/bench/parity/scenario"
)

// nominee is a pod that keeps apart from the queue's pods of zoned, nominated to a node.
func nominee(c *scenario.Case, name, node string) *corev1.Pod {
	pod := c.Queue[0].Pod.DeepCopy()
	pod.Name = name
	pod.Status.NominatedNodeName = node
	return pod
}

func place(t *testing.T, c *scenario.Case) []oracle.Placement {
	t.Helper()
	got, err := newScheduler(t, c).Place(c.Queue, func(best []uint32) uint32 { return best[len(best)-1] })
	if err != nil {
		t.Fatal(err)
	}
	return got
}

func TestPodsYieldToNominatedPods(t *testing.T) {
	for priority, want := range map[int32][]uint32{-1: {2, 0}, 0: {2, 0}, 1: {2, 1, 0}} {
		c := zoned()
		c.Nominated = []*corev1.Pod{nominee(c, "nominated", "node-1")}
		c.Queue[0].Pod.Spec.Priority = &priority
		got := place(t, c)
		if diff := cmp.Diff(want, got[0].Nodes); diff != "" {
			t.Errorf("priority %d: nodes (-want +got):\n%s", priority, diff)
		}
		if checks := got[0].Checks; len(checks) != 3 {
			t.Errorf("priority %d: the plugins alone refuse %d nodes", priority, len(checks))
		}
	}
}

func TestTheNominatedNodeIsTheOnlyOne(t *testing.T) {
	c := zoned()
	c.Queue[0].Count = 1
	c.Queue = append(c.Queue, scenario.Pending{Pod: nominee(c, "nominated", "node-0"), Count: 2})
	s := newScheduler(t, c)
	d, err := s.Decide(s.Queue[1])
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]oracle.Verdict{{Node: 0}}, d.Verdicts); diff != "" {
		t.Errorf("verdicts (-want +got):\n%s", diff)
	}
	if d, err = s.Decide(s.Queue[0]); err != nil || len(d.Feasible) != 2 || d.Verdicts[0].Refusal == nil {
		t.Errorf("%+v, %v; the other pod must yield on node-0", d, err)
	}
	// The second one of the pods is no longer nominated, and finds the node that is left.
	got := place(t, c)
	if diff := cmp.Diff([][]uint32{{2}, {0, 1}}, [][]uint32{got[0].Nodes, got[1].Nodes}); diff != "" {
		t.Errorf("nodes (-want +got):\n%s", diff)
	}
}

func TestAPodOfTheQueueIsNominatedElsewhere(t *testing.T) {
	c := zoned()
	c.Queue[0].Count = 1
	c.Nominated = []*corev1.Pod{nominee(c, c.Queue[0].Pod.Name, "node-2")}
	if diff := cmp.Diff([]uint32{2}, place(t, c)[0].Nodes); diff != "" {
		t.Errorf("nodes (-want +got):\n%s", diff)
	}
}

func TestOnlyPendingPodsAreNominated(t *testing.T) {
	for _, node := range []string{"", "node-1"} {
		c := zoned()
		c.Nominated = []*corev1.Pod{nominee(c, "nominated", "")}
		c.Nominated[0].Spec.NodeName = node
		var invalid *oracle.InvalidError
		if _, err := oracle.New(c); !errors.As(err, &invalid) {
			t.Errorf("got %v", err)
		}
	}
}
