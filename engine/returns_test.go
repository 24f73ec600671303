package engine_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/stowage-scheduler/stowage/engine"
	"github.com/stowage-scheduler/stowage/engine/api"
	"github.com/stowage-scheduler/stowage/engine/enginetest"
	"github.com/stowage-scheduler/stowage/engine/verdict"
)

// counts puts counted pods of a ReplicaSet on nodes, of the i-th pod one on the i-th node.
func counts(stated *api.Cluster, pods ...*enginetest.Pod) *api.Cluster {
	for i, p := range pods {
		p.Template.Controller = api.ControllerReference{Kind: api.ReplicaSet, Name: "set"}
		stated.Templates = append(stated.Templates, p.Template)
		stated.Nodes[i].PodCounts = []api.PodCount{{Template: i, Count: 1}}
	}
	return stated
}

// TestPreemptedPodsComeBack plays a chain of preemptions to its end: a pod of priority 3 preempts one of priority 2, which comes back and
// preempts one of priority 1, which comes back and finds no node.
func TestPreemptedPodsComeBack(t *testing.T) {
	stated := counts(enginetest.Cluster(node4("a").Label("disk", "ssd"), node4("b")), cpu("", 4, 2), cpu("", 4, 1))
	high := cpu("high", 4, 3)
	high.Template.Spec.NodeSelector = api.Labels{{Key: "disk", Value: "ssd"}}
	pod := func(node uint32) verdict.PodReference {
		return verdict.PodReference{Namespace: "default", Node: node, Count: 1, Template: int(node), Queue: -1}
	}
	for _, requeue := range []bool{true, false} {
		got, err := compiled(t, stated).WhatIf(t.Context(), &engine.Scenario{
			Queue: []engine.Pending{{Pod: high.Pod, Count: 1}}, Requeue: requeue,
		}, engine.WhatIfOptions{Profile: api.Kube137(), Scheduler: true})
		if err != nil {
			t.Fatal(err)
		}
		var nodes [][]uint32
		for i := range got.Placements {
			nodes = append(nodes, got.Placements[i].Nodes)
		}
		wantNodes := [][]uint32{{0}, {1}, nil}
		wantDoubts, wantRequeued := []verdict.Doubt(nil), []verdict.Requeued{{Pod: pod(0), Preempted: true}, {Pod: pod(1), Preempted: true}}
		if !requeue {
			wantNodes = wantNodes[:1]
			wantDoubts, wantRequeued = []verdict.Doubt{{Kind: verdict.PreemptedForGood, Pod: pod(0)}}, nil
		}
		if diff := cmp.Diff(wantDoubts, got.Doubts); diff != "" {
			t.Errorf("requeue %v: doubts (-want +got):\n%s", requeue, diff)
		}
		if diff := cmp.Diff(wantRequeued, got.Requeued); diff != "" {
			t.Errorf("requeue %v: pods (-want +got):\n%s", requeue, diff)
		}
		if !slices.EqualFunc(nodes, wantNodes, slices.Equal) {
			t.Errorf("requeue %v: nodes %v, want %v", requeue, nodes, wantNodes)
		}
	}
}

// TestPodsTakeTurns: a pod with anti-affinity to pods of its zone is attempted after each pod that it preempted has come back to
// another node of the zone. kube-scheduler goes on forever; here a bound ends it, and is reported.
func TestPodsTakeTurns(t *testing.T) {
	other := cpu("", 1, 1).Label("app", "other")
	stated := counts(enginetest.Cluster(node4("a").Zone("z"), node4("b").Zone("z")), other)
	apart := cpu("apart", 1, 2).AntiAffinity("topology.kubernetes.io/zone", enginetest.Selects("app", "other"))
	got, err := compiled(t, stated).WhatIf(t.Context(), &engine.Scenario{
		Queue: []engine.Pending{{Pod: apart.Pod, Count: 1}}, Requeue: true,
	}, engine.WhatIfOptions{Profile: api.Kube137(), Scheduler: true})
	if err != nil {
		t.Fatal(err)
	}
	limits := 0
	for _, d := range got.Doubts {
		if d.Kind == verdict.LimitMet {
			limits++
		}
	}
	if n := len(got.Evictions); limits != 1 || n < 2 || n > 20 {
		t.Errorf("%d evictions, %d limits met: %+v", n, limits, got)
	}
}

// TestManyPodsComeBack: pods come back in time in proportion to their number, and share one class. The deadline ends that, too.
func TestManyPodsComeBack(t *testing.T) {
	node := enginetest.MakeNode("a").Allocate("cpu", 1_000_000, "pods", 1_000_000)
	stated := enginetest.Cluster(node)
	template := cpu("", 1, 1).Template
	template.Controller = api.ControllerReference{Kind: api.ReplicaSet, Name: "set"}
	stated.Templates = append(stated.Templates, template)
	for i := range 10_000 {
		stated.Nodes[0].Pods = append(stated.Nodes[0].Pods, api.Pod{Name: fmt.Sprint("p", i), Template: template})
	}
	stated.Nodes[0].Allocatable = enginetest.Resources("cpu", 10_000_000, "pods", 20_000)
	s := &engine.Scenario{Queue: []engine.Pending{{Pod: cpu("high", 10_000, 2).Pod, Count: 1}}, Requeue: true}
	o := engine.WhatIfOptions{Profile: api.Kube137(), Scheduler: true}
	got, err := compiled(t, stated).WhatIf(t.Context(), s, o)
	if err != nil {
		t.Fatal(err)
	}
	if len(got.Requeued) != 10_000 || len(got.Placements) != 10_001 || got.Placements[5_000].Unplaced != 1 || len(got.Doubts) > 0 {
		t.Errorf("%d came back, %d placements, %d doubts", len(got.Requeued), len(got.Placements), len(got.Doubts))
	}
}
