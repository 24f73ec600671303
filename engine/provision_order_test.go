package engine_test

import (
	"fmt"
	"testing"

	"github.com/stowage-scheduler/stowage/engine"
	"github.com/stowage-scheduler/stowage/engine/api"
	"github.com/stowage-scheduler/stowage/engine/enginetest"
)

// TestProvisionByPriority has one node for one of several pods: in order the first one gets it, in kube-scheduler's order one with the
// highest priority. The answer has the entries of the queue.
func TestProvisionByPriority(t *testing.T) {
	t.Parallel()
	node := enginetest.MakeNode("new").Allocate("cpu", 2000, "memory", 32<<30, "pods", 110)
	templates := []engine.NodeTemplate{{Node: node.Node, Price: 1, Most: 1}}
	var queue []engine.Pending
	for i, priority := range []int32{0, 9, 5, 9} {
		pod := enginetest.MakePod(fmt.Sprint("p", i)).Request("cpu", 1500)
		pod.Template.Spec.Priority = priority
		queue = append(queue, engine.Pending{Pod: pod.Pod, Count: 1})
	}
	for _, test := range []struct {
		scheduler bool
		groups    []engine.PodGroup
		want      int
	}{
		{false, nil, 0},
		{true, nil, 1},
		{true, []engine.PodGroup{{Name: "g", Entries: []int{2}, Minimum: 1, Priority: new(int32(5))}}, 1},
		{true, []engine.PodGroup{{Name: "g", Entries: []int{3}, Minimum: 1, Priority: new(int32(9))}}, 1},
	} {
		got, err := compiled(t, &api.Cluster{}).Provision(t.Context(), queue, engine.ProvisionOptions{
			Profile: api.Kube137(), Templates: templates, MaxNodes: 1, Scheduler: test.scheduler, Groups: test.groups,
		})
		if err != nil {
			t.Fatal(err)
		}
		for i := range got.Place.Placements {
			if p := &got.Place.Placements[i]; (len(p.Nodes) == 1) != (i == test.want) || (p.Unplaced == 1) != (i != test.want) {
				t.Errorf("scheduler %t: entry %d has %v, and %d pods are left", test.scheduler, i, p.Nodes, p.Unplaced)
			}
		}
		left := 0
		for _, u := range got.Unplaced {
			if left++; u.Entry == test.want {
				t.Errorf("scheduler %t: entry %d is placed and listed as unplaced", test.scheduler, u.Entry)
			}
		}
		if left != len(queue)-1 {
			t.Errorf("scheduler %t: %d entries are listed as unplaced", test.scheduler, left)
		}
	}
}
