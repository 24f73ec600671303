package queue

import (
	"context"
	"errors"
	"testing"

	"github.com/stowage-scheduler/stowage/engine/api"
	"github.com/stowage-scheduler/stowage/engine/enginetest"
	"github.com/stowage-scheduler/stowage/engine/internal/cluster"
	"github.com/stowage-scheduler/stowage/engine/internal/decide"
	"github.com/stowage-scheduler/stowage/engine/internal/gang"
	"github.com/stowage-scheduler/stowage/engine/internal/nodeset"
	"github.com/stowage-scheduler/stowage/engine/internal/place"
	"github.com/stowage-scheduler/stowage/engine/internal/plugin"
	"github.com/stowage-scheduler/stowage/engine/internal/plugin/registry"
	"github.com/stowage-scheduler/stowage/engine/internal/preempt"
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
		const waiting = "waiting for scheduling gates: [example.com/quota]"
		if p := q.Placements[0]; p.Message != waiting || len(p.Rejections) != 1 || p.Unattempted != 0 {
			t.Errorf("at %s: %+v", at, p)
		}
	}
}

// TestFailuresOfEarlierAttemptsMakeRoom: what they list does not count, and is not kept.
func TestFailuresOfEarlierAttemptsMakeRoom(t *testing.T) {
	const nodes = verdict.MaxListedNodes / 2
	class := &place.Class{}
	q := &queue{Queue: &place.Queue{Candidates: nodeset.Full(nodes)}, memorizing: memorizing{known: make(map[*place.Class]*failure)}}
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

// TestEventsAreLookedAtOnce: for each shape, by the waiting pods, until the deadline.
func TestEventsAreLookedAtOnce(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	class := &place.Class{Pod: &cluster.Pending{Pod: &api.Pod{Template: &api.PodTemplate{}}}}
	looks := 0
	waits := []func(*plugin.Event) bool{func(e *plugin.Event) bool { looks++; return e.Terminating }}
	q := &queue{ctx: ctx, unplaced: unplaced{keptBy: make(map[keptBy]*kept)}}
	const lists = 3000
	for i := range uint64(lists) {
		q.keptBy[keptBy{class, i}] = &kept{keptBy: keptBy{class, i}, waits: waits}
		q.keep(&pods{class: class, count: 1, unschedulable: 1, rejectors: i})
	}
	const never = 1 << 20
	q.keptBy[keptBy{class, never}] = &kept{}
	q.keep(&pods{class: class, count: 1, unschedulable: 1, rejectors: never})
	if len(q.leftover) != 1 || len(q.unschedulable) != lists {
		t.Errorf("%d wait for events, %d for the flush", len(q.unschedulable), len(q.leftover))
	}
	shape, left := &cluster.Shape{}, departures{}
	for range 100 {
		left.add(shape, 0)
	}
	if err := q.wakeAll(left); err != nil || looks != lists {
		t.Errorf("%d looks, error %v", looks, err)
	}
	left.add(&cluster.Shape{Terminating: true}, -1) // below the priority of the waiting pods
	if err := q.wakeAll(left); err != nil || looks != 2*lists || len(q.backoff) != 0 {
		t.Errorf("%d looks, %d woken, error %v", looks, len(q.backoff), err)
	}
	cancel()
	if err := q.wakeAll(left); !errors.Is(err, context.Canceled) || looks != 2*lists {
		t.Errorf("after the deadline: %d looks, error %v", looks, err)
	}
	q.ctx = t.Context()
	woken := departures{}
	woken.add(&cluster.Shape{Terminating: true}, 0)
	if err := q.wakeAll(woken); err != nil || len(q.backoff) != lists || len(q.unschedulable) != 0 {
		t.Errorf("%d woken, %d wait, error %v", len(q.backoff), len(q.unschedulable), err)
	}
}

// TestOutrankedNominationsEndAtOnce: the nominations of the request in one pass, and the pods that they kept away are woken once.
func TestOutrankedNominationsEndAtOnce(t *testing.T) {
	low, high := enginetest.MakePod("low").Priority(1), enginetest.MakePod("high").Priority(5)
	of := queueOf(t, low, high)
	ctx, cancel := context.WithCancel(t.Context())
	q := &queue{Queue: of, ctx: ctx, nominees: make(map[*cluster.Nomination]*pods)}
	var nominated []*pods
	for range 100 {
		for i := range of.Classes {
			p := &pods{entry: i, count: 1, class: of.Classes[i]}
			q.nominate(p, "a")
			nominated = append(nominated, p)
		}
	}
	looks := 0
	waits := []func(*plugin.Event) bool{func(*plugin.Event) bool { looks++; return false }}
	q.unschedulable = []*kept{{keptBy: keptBy{class: of.Classes[0]}, waits: waits}}
	mid := &pods{class: &place.Class{Pod: of.State.Compile(&enginetest.MakePod("mid").Priority(5).Pod)}}
	if err := q.outrank(mid.priority(), 0); err != nil || looks != 1 {
		t.Errorf("%d looks, error %v", looks, err)
	}
	for i, p := range nominated {
		if ended := p.nominated == "" && p.pending == nil; ended != (p.entry == 0) {
			t.Errorf("nomination %d ended: %t", i, ended)
		}
	}
	if left := len(of.State.NominatedTo(nil, 0, 10)); left != 100 || len(q.nominees) != 100 {
		t.Errorf("%d nominations left, %d nominees", left, len(q.nominees))
	}
	cancel()
	top := &pods{class: &place.Class{Pod: of.State.Compile(&enginetest.MakePod("top").Priority(9).Pod)}}
	if err := q.outrank(top.priority(), 0); err == nil {
		t.Error("no look at the deadline")
	}
	if of.State.AnyNominations() {
		t.Error("nominations are left")
	}
}

// TestEvictingEndsAtTheDeadline: the answer then has the whole eviction.
func TestEvictingEndsAtTheDeadline(t *testing.T) {
	of := queueOf(t, enginetest.MakePod("low"), enginetest.MakePod("high").Priority(5))
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	q := &queue{Queue: of, ctx: ctx, entries: make([]entry, 2)}
	for range 40 {
		q.place(&pods{class: of.Classes[0], count: 1}, 0)
	}
	var victims []preempt.VictimOn
	for _, v := range of.State.Victims(nil, 0, 5) {
		victims = append(victims, preempt.VictimOn{Victim: v})
	}
	if _, err := q.evict(verdict.Eviction{Entry: 1}, victims); !errors.Is(err, context.Canceled) {
		t.Fatal(err)
	}
	if left := len(of.State.Victims(nil, 0, 5)); left == 0 || left == 40 {
		t.Errorf("%d of 40 victims left in the state", left)
	}
	if len(q.evictions) != 1 || q.entries[0].evicted != 40 {
		t.Errorf("%d evictions, %d pods evicted", len(q.evictions), q.entries[0].evicted)
	}
}

// TestNominatedNodesAreTriedAlone: the other nodes are evaluated only if the nominated one is infeasible.
func TestNominatedNodesAreTriedAlone(t *testing.T) {
	for cores, scans := range map[int]uint64{1000: 0, 2000: 1} {
		pod := enginetest.MakePod("web").Request("cpu", cores)
		pod.NominatedNode = "a"
		q := queueOf(t, pod)
		var result verdict.Placement
		class := q.Classes[0].Copy(true)
		node, found, err := q.Next(t.Context(), class, &result)
		if err != nil || node != 0 || found != (scans == 0) || uint64(result.Scanned) != scans {
			t.Errorf("%d: node %d, found: %t, %d scans, error %v", cores, node, found, result.Scanned, err)
		}
	}
}

// TestNominatedPodsShareADecision: but for the nomination. What depends on their template alone takes memory once.
func TestNominatedPodsShareADecision(t *testing.T) {
	web := enginetest.MakePod("web")
	web.Template.Spec.NodeSelector = api.LabelsOf(map[string]string{"zone": "z"})
	of := queueOf(t, web)
	q := &queue{Queue: of, nominees: make(map[*cluster.Nomination]*pods)}
	p := &pods{count: 1, class: of.Classes[0]}
	q.nominate(p, "a")
	own, other := q.Decision(p.nominee()), q.Decision(of.Classes[0])
	if own.Pod != p.pending || other.Pod != of.Classes[0].Pod || &own.Required[0] != &other.Required[0] {
		t.Errorf("%+v, %+v", own.Cycle, other.Cycle)
	}
}

// TestUndecidedPreemptionsAreTold: they list nothing, so that there is room for them.
func TestUndecidedPreemptionsAreTold(t *testing.T) {
	q := &queue{stored: maxStored}
	undecided := &verdict.GroupPreemption{Undecided: true}
	found := &verdict.GroupPreemption{Victims: make([]verdict.PodReference, 1), Count: 1}
	for _, p := range []*verdict.GroupPreemption{undecided, found} {
		a := &gang.Attempt{Listed: 1, Placements: []verdict.Placement{{Rejections: make([]verdict.Rejection, 1)}}}
		a.Preemption = p
		g := &group{}
		q.storeGroup(g, a)
		if told := a.Preemption != nil; told != p.Undecided || a.Placements[0].Rejections != nil || q.stored != maxStored {
			t.Errorf("%+v: %+v, %d stored", p, a, q.stored)
		}
		result := &verdict.PodGroupPlacement{First: -1, Preemption: p}
		q.resultOf(g, result, &listed{found: verdict.MaxListedNodes})
		if told := result.Preemption != nil; told != p.Undecided {
			t.Errorf("%+v: told %+v", p, result.Preemption)
		}
	}
}
