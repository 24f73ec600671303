package queue

import (
	"context"
	"testing"

	"github.com/stowage-scheduler/stowage/engine/api"
	"github.com/stowage-scheduler/stowage/engine/enginetest"
	"github.com/stowage-scheduler/stowage/engine/internal/cluster"
	"github.com/stowage-scheduler/stowage/engine/internal/decide"
	"github.com/stowage-scheduler/stowage/engine/internal/nodeset"
	"github.com/stowage-scheduler/stowage/engine/internal/place"
	"github.com/stowage-scheduler/stowage/engine/internal/plugin/registry"
	"github.com/stowage-scheduler/stowage/engine/verdict"
)

// queueOf returns a queue of single pods on one small node.
func queueOf(t *testing.T, pods ...*enginetest.Pod) *place.Queue {
	t.Helper()
	c, err := cluster.Compile(t.Context(), enginetest.Cluster(enginetest.MakeNode("a").Allocate("cpu", 1000, "pods", 10)))
	if err != nil {
		t.Fatal(err)
	}
	pending := make([]place.Pending, len(pods))
	for i, p := range pods {
		pending[i] = place.Pending{Pod: p.Pod, Count: 1}
	}
	q, err := place.New(t.Context(), decide.NewFramework(api.Kube137(), registry.Plugins), cluster.NewState(t.Context(), c),
		nodeset.Full(1), pending, place.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return q
}

// TestGatesNeedNoDecision: a decision takes memory for every node, a gate is part of the pod.
func TestGatesNeedNoDecision(t *testing.T) {
	gated := enginetest.MakePod("gated")
	gated.Template.Spec.SchedulingGates = []string{"example.com/quota"}
	for _, at := range []string{"the end", "the deadline"} {
		q := queueOf(t, gated, enginetest.MakePod("web"))
		ctx, cancel := context.WithCancel(t.Context())
		if at == "the deadline" {
			cancel()
		}
		if _, err := Place(ctx, q, nil, Options{}); (err != nil) != (at == "the deadline") {
			t.Fatal(err)
		}
		cancel()
		if q.Classes[0].Decision != nil {
			t.Errorf("at %s: a decision about a gated pod", at)
		}
		if p := q.Placements[0]; p.Message != "waiting for scheduling gates: [example.com/quota]" || len(p.Rejections) != 1 || p.Unattempted != 0 {
			t.Errorf("at %s: %+v", at, p)
		}
	}
}

// TestFailuresOfEarlierAttemptsMakeRoom: what they list does not count, and is not kept.
func TestFailuresOfEarlierAttemptsMakeRoom(t *testing.T) {
	const nodes = verdict.MaxListedNodes / 2
	class := &place.Class{}
	q := &queue{Queue: &place.Queue{Candidates: nodeset.Full(nodes)}, known: make(map[*place.Class]*failure)}
	found := func() *failure {
		why := &failure{preemption: &verdict.Preemption{Best: make([]uint32, nodes)}}
		q.store(why, make([]verdict.Rejection, 1))
		q.known[class] = why
		return why
	}
	again, other := &pods{class: class}, &pods{class: class}
	for range 20 {
		shared := found()
		for _, p := range []*pods{again, other} {
			q.have(p, shared)
		}
		if shared.rejections == nil || shared.unlisted {
			t.Fatal("what earlier attempts listed counts")
		}
	}
	for range 3 { // they list what there is room for
		q.have(&pods{class: class}, found())
	}
	if last := found(); last.rejections != nil || !last.unlisted {
		t.Error("there is no bound")
	}
	if q.release(again); q.known[class] == nil {
		t.Error("a failure of other pods is forgotten")
	}
	only := &pods{class: class}
	q.have(only, found())
	if q.release(only); q.known[class] != nil {
		t.Error("a failure of no pods is kept")
	}
}
