package engine_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/stowage-scheduler/stowage/engine"
	"github.com/stowage-scheduler/stowage/engine/api"
	"github.com/stowage-scheduler/stowage/engine/enginetest"
	"github.com/stowage-scheduler/stowage/engine/verdict"
)

// scheduled places a queue of single pods as kube-scheduler's.
func scheduled(t *testing.T, c *engine.Cluster, pods ...*enginetest.Pod) *verdict.Place {
	t.Helper()
	var queue []engine.Pending
	for _, p := range pods {
		queue = append(queue, engine.Pending{Pod: p.Pod, Count: 1})
	}
	result, err := c.Place(t.Context(), queue, engine.PlaceOptions{Profile: api.Kube137(), Scheduler: true, Preempt: true})
	if err != nil {
		t.Fatal(err)
	}
	return result
}

// came is what became of a queue entry.
type came struct {
	Nodes    []uint32
	Evicted  int
	Attempts uint64
}

func becameOf(p *verdict.Place) (out []came) {
	for i := range p.Placements {
		out = append(out, came{p.Placements[i].Nodes, p.Placements[i].Evicted, p.Placements[i].Attempts})
	}
	return out
}

// evicted is an eviction: who evicts whom where.
type evicted struct {
	Entry   int
	Node    uint32
	Victims []string
}

func evictionsOf(p *verdict.Place) (out []evicted) {
	for _, e := range p.Evictions {
		var names []string
		for _, v := range e.Victims {
			names = append(names, v.Name)
		}
		out = append(out, evicted{e.Entry, e.Node, names})
	}
	return out
}

func expect(t *testing.T, p *verdict.Place, entries []came, evictions []evicted) {
	t.Helper()
	if diff := gocmp.Diff(entries, becameOf(p), cmpopts.EquateEmpty()); diff != "" {
		t.Errorf("entries (-want +got):\n%s", diff)
	}
	if diff := gocmp.Diff(evictions, evictionsOf(p), cmpopts.EquateEmpty()); diff != "" {
		t.Errorf("evictions (-want +got):\n%s", diff)
	}
}

func node4(name string) *enginetest.Node {
	return enginetest.MakeNode(name).Allocate("cpu", 4000, "memory", 32<<30, "pods", 110)
}

func cpu(name string, cores int, priority int32) *enginetest.Pod {
	return enginetest.MakePod(name).Request("cpu", 1000*cores).Priority(priority)
}

// TestScheduleOrdersByPriority: the later pod of the higher priority gets the room.
func TestScheduleOrdersByPriority(t *testing.T) {
	c := compile(t, node4("a"))
	p := scheduled(t, c, cpu("low", 3, 0), cpu("high", 3, 7))
	expect(t, p, []came{{Attempts: 2}, {Nodes: []uint32{0}, Attempts: 1}}, nil)
	const none = "preemption: 0/1 nodes are available: 1 No preemption victims found for incoming pod."
	if m := p.Placements[0].Message; !strings.HasSuffix(m, none) {
		t.Errorf("message %q", m)
	}
}

// TestScheduleTriesAgain: the first pod waits for the third, which the second is not. A pod that matches is what it waits for, so
// that it is attempted right after all that were not attempted yet.
func TestScheduleTriesAgain(t *testing.T) {
	c := compile(t, node4("a"), node4("b"))
	web := enginetest.MakePod("web").Affinity(hostname, enginetest.Selects("app", "cache"))
	p := scheduled(t, c, web, enginetest.MakePod("other").Label("app", "other"), enginetest.MakePod("cache").Label("app", "cache"))
	cache := p.Placements[2].Nodes
	expect(t, p, []came{{Nodes: cache, Attempts: 2}, {Nodes: p.Placements[1].Nodes, Attempts: 1}, {Nodes: cache, Attempts: 1}}, nil)
	if len(cache) != 1 || len(p.Placements[1].Nodes) != 1 {
		t.Errorf("placed %+v", p.Placements)
	}
}

// TestScheduleFlushes: a pod waits for its own kind of events alone. The namespace selector of its term selects no namespace
// when events are looked at, so that only the flush brings it back.
func TestScheduleFlushes(t *testing.T) {
	stated := enginetest.Cluster(node4("a"))
	stated.Namespaces = []api.Namespace{{Name: "default"}, {Name: "caches", Labels: api.Labels{{Key: "team", Value: "x"}}}}
	web := enginetest.MakePod("web").Affinity(hostname, enginetest.Selects("app", "cache"))
	web.Template.Spec.PodAffinity.Required[0].NamespaceSelector = enginetest.Selects("team", "x")
	cache := enginetest.MakePod("cache").Namespace("caches").Label("app", "cache")
	last := cpu("last", 4, 0)
	p := scheduled(t, compiled(t, stated), web, cache, last, cpu("none", 1, -1))
	// web is placed after the first flush, so that there is a second one.
	expect(t, p, []came{{[]uint32{0}, 0, 2}, {[]uint32{0}, 0, 1}, {[]uint32{0}, 0, 1}, {Attempts: 3}}, nil)
}

// TestSchedulePreempts: the victim leaves, and its room is kept for the pod that evicted it.
func TestSchedulePreempts(t *testing.T) {
	c := compile(t, node4("a").Run(cpu("victim", 3, 0)), node4("b").Run(cpu("precious", 4, 9)))
	p := scheduled(t, c, cpu("low", 1, 1), cpu("high", 4, 5), cpu("rest", 1, 0))
	// high evicts victim, low and rest leave its room alone and have no victims. They wait for pods that leave, and none does.
	expect(t, p, []came{{Attempts: 2}, {Nodes: []uint32{0}, Attempts: 2}, {Attempts: 2}}, []evicted{{1, 0, []string{"victim"}}})
}

// TestScheduleEvictsPodsOfTheQueue: waits is placed once its dependency is there. By then low has the room.
func TestScheduleEvictsPodsOfTheQueue(t *testing.T) {
	c := compile(t, node4("a"))
	waits := cpu("waits", 4, 100).Affinity(hostname, enginetest.Selects("app", "x"))
	x := enginetest.MakePod("x").Label("app", "x").Priority(100)
	p := scheduled(t, c, waits, x, cpu("low", 4, 1))
	expect(t, p, []came{{Nodes: []uint32{0}, Attempts: 3}, {Nodes: []uint32{0}, Attempts: 1}, {Evicted: 1, Attempts: 1}},
		[]evicted{{0, 0, []string{"low"}}})
	if v := p.Evictions[0].Victims[0]; v.Queue != 2 || v.Count != 1 {
		t.Errorf("the victim is %+v", v)
	}
	if low := p.Placements[2]; low.Unplaced != 0 || low.Message != "" {
		t.Errorf("the evicted pod: %+v", low)
	}
}

// TestScheduleLosesANomination: mid evicts victim, but high is placed there, which waited for x. mid then finds no victims, loses
// its nomination, and is woken by that itself, before the flush attempts it once more.
func TestScheduleLosesANomination(t *testing.T) {
	c := compile(t, node4("a").Run(cpu("victim", 4, 0)))
	high := cpu("high", 4, 100).Affinity(hostname, enginetest.Selects("app", "x"))
	x := enginetest.MakePod("x").Label("app", "x").Priority(5)
	p := scheduled(t, c, high, cpu("mid", 4, 10), x)
	expect(t, p, []came{{Nodes: []uint32{0}, Attempts: 2}, {Attempts: 4}, {Nodes: []uint32{0}, Attempts: 1}},
		[]evicted{{1, 0, []string{"victim"}}})
}

// TestScheduleBacksOff: first wakes often, which still has no room where first is, and second. When second is placed, often was
// rejected twice and seldom once: seldom is attempted first and takes the room, though it came later.
func TestScheduleBacksOff(t *testing.T) {
	c := compile(t, node4("a").Zone("z"), enginetest.MakeNode("b").Allocate("cpu", 1000, "pods", 110).Zone("z"))
	never := func(p *enginetest.Pod) *enginetest.Pod {
		p.Template.Spec.NeverPreempts = true
		return p
	}
	on := func(p *enginetest.Pod, node string) *enginetest.Pod {
		p.Template.Spec.NodeSelector = api.Labels{{Key: hostname, Value: node}}
		return p
	}
	often := never(cpu("often", 4, 5).Affinity(hostname, enginetest.Selects("app", "x")))
	seldom := never(cpu("seldom", 4, 5).Affinity(hostname, enginetest.Selects("app", "x")))
	seldom.Affinity(hostname, enginetest.Selects("tier", "y"))
	second := on(enginetest.MakePod("second").Label("app", "x").Label("tier", "y").Priority(3), "a").
		Affinity("topology.kubernetes.io/zone", enginetest.Selects("role", "first"))
	first := on(enginetest.MakePod("first").Label("app", "x").Label("role", "first"), "b")
	p := scheduled(t, c, often, seldom, second, first)
	expect(t, p, []came{{Attempts: 4}, {[]uint32{0}, 0, 2}, {[]uint32{0}, 0, 2}, {[]uint32{1}, 0, 1}}, nil)
}

// TestScheduleGatesAndErrors: pods that are not attempted, and pods whose attempts fail.
func TestScheduleGatesAndErrors(t *testing.T) {
	gated := enginetest.MakePod("gated")
	gated.Template.Spec.SchedulingGates = []string{"example.com/quota"}
	broken := enginetest.MakePod("broken").Spread(hostname, 1, enginetest.Selects("app", "not a label value"))
	p := scheduled(t, compile(t, node4("a")), gated, broken, cpu("last", 1, -1))
	expect(t, p, []came{{}, {Attempts: 2}, {Nodes: []uint32{0}, Attempts: 1}}, nil)
	g, waiting := p.Placements[0], "waiting for scheduling gates: [example.com/quota]"
	if g.Unplaced != 1 || g.Unattempted != 0 || g.Failed || g.Message != waiting || len(g.Rejections) != 1 {
		t.Errorf("gated: %+v", g)
	}
	b, failed := p.Placements[1], `running PreFilter plugin "PodTopologySpread": `
	if b.Unplaced != 1 || !b.Failed || !strings.HasPrefix(b.Message, failed) {
		t.Errorf("broken: %+v", b)
	}
}

// TestScheduleNominatedFromTheStart: the cluster's nomination belongs to the pod of the queue, and ends with it.
func TestScheduleNominatedFromTheStart(t *testing.T) {
	mid := cpu("mid", 4, 5).NominatedTo("b")
	c := compile(t, node4("a").Run(cpu("precious", 4, 9)), node4("b").Nominate(cpu("mid", 4, 5), cpu("stranger", 1, 1)))
	p := scheduled(t, c, cpu("low", 1, 0), mid, cpu("later", 4, 5))
	expect(t, p, []came{{Attempts: 2}, {Nodes: []uint32{1}, Attempts: 1}, {Attempts: 2}}, nil)

	// It does not count against the pod itself, and not at all if the pod says otherwise.
	c = compile(t, node4("b").Nominate(cpu("mid", 4, 5)))
	p = scheduled(t, c, cpu("mid", 4, 5), cpu("low", 4, 0))
	expect(t, p, []came{{Nodes: []uint32{0}, Attempts: 1}, {Attempts: 2}}, nil)
	p = scheduled(t, c, cpu("high", 4, 6), cpu("mid", 1, 5))
	expect(t, p, []came{{Nodes: []uint32{0}, Attempts: 1}, {Attempts: 2}}, nil)
}

// TestScheduleFreesHostPorts: the port of two pods is free once one of them has left, until another pod takes it.
func TestScheduleFreesHostPorts(t *testing.T) {
	c := compile(t, node4("a").Run(cpu("stays", 0, 5).HostPort(80), cpu("leaves", 0, 0).HostPort(80)))
	p := scheduled(t, c, cpu("first", 0, 1).HostPort(80), cpu("second", 0, 1).HostPort(80))
	expect(t, p, []came{{Nodes: []uint32{0}, Attempts: 2}, {Attempts: 2}}, []evicted{{0, 0, []string{"leaves"}}})
}

// TestScheduleAtADeadline: with Partial, unattempted pods are reported.
func TestScheduleAtADeadline(t *testing.T) {
	c := compile(t, node4("a"))
	ctx, cancel := context.WithDeadline(t.Context(), time.Now().Add(-time.Second))
	defer cancel()
	queue := []engine.Pending{{Pod: cpu("web", 1, 0).Pod, Count: 3}}
	o := engine.PlaceOptions{Profile: api.Kube137(), Scheduler: true}
	if _, err := c.Place(ctx, queue, o); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("error %v", err)
	}
	o.Partial = true
	p, err := c.Place(ctx, queue, o)
	if err != nil || !p.Partial || p.Placements[0].Unplaced != 3 || p.Placements[0].Unattempted != 3 {
		t.Errorf("%+v, error %v", p, err)
	}
}

// TestScheduleManyAlike: pods that fare alike are attempted at once, and preempting pods one by one.
func TestScheduleManyAlike(t *testing.T) {
	const many = 1_000_000
	c := compile(t, node4("a").Run(cpu("victim", 1, 0), cpu("victim-2", 1, 0)), node4("b"))
	nominated := cpu("nominated", 1, 0).NominatedTo("b")
	queue := []engine.Pending{{Pod: cpu("web", 1, 5).Pod, Count: many}, {Pod: nominated.Pod, Count: 50}}
	p, err := c.Place(t.Context(), queue, engine.PlaceOptions{Profile: api.Kube137(), Scheduler: true})
	if err != nil {
		t.Fatal(err)
	}
	// Six find room, two preempt and are attempted twice, and so are all others, the second time in the flush. The pods of the
	// other entry lose their nominations, which wakes them before that.
	web := p.Placements[0]
	if len(web.Nodes) != 8 || web.Unplaced != many-8 || web.Attempts != 8+2+2*(many-8) || len(p.Evictions) != 2 {
		t.Errorf("%d placed, %d unplaced, %d attempts, %d evictions", len(web.Nodes), web.Unplaced, web.Attempts, len(p.Evictions))
	}
	if other := p.Placements[1]; other.Unplaced != 50 || other.Attempts != 150 {
		t.Errorf("nominated: %+v", other)
	}
}

// randomSchedule returns a cluster, and a queue in which many pods preempt or wait for each other.
func randomSchedule(rng *rand.Rand) (*api.Cluster, []engine.Pending) {
	stated, pods := enginetest.Random(rng)
	if rng.IntN(3) > 0 {
		enginetest.RandomVictims(rng, stated, pods)
	}
	if rng.IntN(3) == 0 {
		enginetest.RandomNominated(rng, stated, pods)
	}
	var queue []engine.Pending
	for i := range pods {
		if rng.IntN(2) == 0 {
			filler := enginetest.MakePod("filler-"+pods[i].Name).Label("app", []string{"web", "db", "cache"}[rng.IntN(3)])
			queue = append(queue, engine.Pending{Pod: filler.Request("cpu", 300).Priority(rng.Int32N(3) - 1).Pod, Count: 1 + rng.IntN(4)})
		}
		pods[i].Terminating = false
		queue = append(queue, engine.Pending{Pod: pods[i], Count: 1 + rng.IntN(2)*rng.IntN(4)})
	}
	rng.Shuffle(len(queue), func(i, j int) { queue[i], queue[j] = queue[j], queue[i] })
	return stated, queue
}

// TestScheduleEqualsScanning compares the queue with the one that evaluates every node for every attempt.
func TestScheduleEqualsScanning(t *testing.T) {
	t.Parallel()
	again, placed, gone, evictions := 0, 0, 0, 0
	for seed := range uint64(cases(2000)) {
		rng := rand.New(rand.NewPCG(seed, 90))
		stated, queue := randomSchedule(rng)
		c := compiled(t, stated)
		o := engine.PlaceOptions{Profile: api.Kube137(), Scheduler: true, Preempt: true, Seed: seed % 3, FewestPods: seed%2 == 1, Scan: true}
		want, err := c.Place(t.Context(), queue, o)
		if err != nil {
			t.Fatal(err)
		}
		o.Scan = false
		for how, o := range map[string]engine.PlaceOptions{"as it pays": o, "with the board": o.WithBoard()} {
			got, err := c.Place(t.Context(), queue, o)
			if err != nil {
				t.Fatal(err)
			}
			if diff := gocmp.Diff(want, got, cmpopts.EquateEmpty(), cmpopts.IgnoreFields(verdict.Placement{}, "Scanned")); diff != "" {
				t.Fatalf("seed %d, %s (-scanning +now):\n%s", seed, how, diff)
			}
		}
		evictions += len(want.Evictions)
		for i := range want.Placements {
			p := &want.Placements[i]
			if n := len(p.Nodes) + p.Unplaced + p.Evicted; n != queue[i].Count || p.Unattempted != 0 {
				t.Fatalf("seed %d: entry %d of %d pods: %+v", seed, i, queue[i].Count, p)
			}
			placed, gone = placed+len(p.Nodes), gone+p.Evicted
			if p.Unplaced == 0 && p.Attempts > uint64(queue[i].Count) {
				again++
			}
		}
	}
	t.Logf("%d placed, %d entries after more attempts, %d evictions, %d pods of the queue evicted", placed, again, evictions, gone)
	if min(placed, again, evictions, gone) == 0 {
		t.Error("some outcome never occurs")
	}
}

// final returns the cluster as a queue leaves it: without the victims, with the placed pods, and without nominations.
func final(stated *api.Cluster, queue []engine.Pending, result *verdict.Place) *api.Cluster {
	now := *stated
	now.Nodes = slices.Clone(stated.Nodes)
	for i := range now.Nodes {
		n := &now.Nodes[i]
		n.Pods, n.PodCounts, n.Nominated = slices.Clone(n.Pods), slices.Clone(n.PodCounts), nil
	}
	for i := range result.Placements {
		for _, n := range result.Placements[i].Nodes {
			pod := queue[i].Pod
			pod.NominatedNode = ""
			now.Nodes[n].Pods = append(now.Nodes[n].Pods, pod)
		}
	}
	for _, e := range result.Evictions {
		n := &now.Nodes[e.Node]
		for _, v := range e.Victims {
			switch {
			case v.Queue >= 0: // it is in no placement
			case v.Name != "":
				n.Pods = slices.DeleteFunc(n.Pods, func(p api.Pod) bool { return p.Name == v.Name && p.Template.Namespace == v.Namespace })
			default:
				left := int32(v.Count)
				for i := range n.PodCounts { // a node may state equal pods in several counts
					if c := &n.PodCounts[i]; c.Template == v.Template {
						take := min(left, c.Count)
						c.Count, left = c.Count-take, left-take
					}
				}
			}
		}
		n.PodCounts = slices.DeleteFunc(n.PodCounts, func(c api.PodCount) bool { return c.Count == 0 })
	}
	return &now
}

// TestScheduleEndsWhenNothingCanChange: no pod without a node fits at the end, or could preempt, and no node has more than it
// has room for. Without nominations, as an ending nomination may be the one that keeps a pod from its node.
func TestScheduleEndsWhenNothingCanChange(t *testing.T) {
	t.Parallel()
	unplaced, evictions := 0, 0
	for seed := range uint64(cases(1500)) {
		rng := rand.New(rand.NewPCG(seed, 91))
		stated, queue := randomSchedule(rng)
		for i := range stated.Nodes {
			stated.Nodes[i].Nominated = nil
			for j := range stated.Nodes[i].Pods {
				stated.Nodes[i].Pods[j].Terminating, stated.Nodes[i].Pods[j].Preempted = false, false
			}
			for j := range stated.Nodes[i].PodCounts {
				stated.Nodes[i].PodCounts[j].Terminating = false
			}
		}
		for i := range queue {
			queue[i].Pod.NominatedNode = ""
		}
		c := compiled(t, stated)
		result, err := c.Place(t.Context(), queue, engine.PlaceOptions{Profile: api.Kube137(), Scheduler: true})
		if err != nil {
			t.Fatal(err)
		}
		now := final(stated, queue, result)
		evictions += len(result.Evictions)
		for i := range result.Placements {
			if result.Placements[i].Unplaced == 0 {
				continue
			}
			unplaced++
			f := filterOf(t, now, &queue[i].Pod, engine.FilterOptions{Preempt: &engine.PreemptOptions{}})
			if len(f.Feasible) > 0 && !result.Placements[i].Failed || f.Preemption != nil && f.Preemption.Nominated != nil {
				t.Fatalf("seed %d: entry %d is unplaced (%s), now %+v, %+v", seed, i, result.Placements[i].Message, f.Feasible, f.Preemption)
			}
		}
		for node := range now.Nodes {
			if used, room, came := cpuOf(stated, now, node); came && used > room {
				t.Fatalf("seed %d: node %d has %d of %d", seed, node, used, room)
			}
		}
	}
	t.Logf("%d entries with unplaced pods, %d evictions", unplaced, evictions)
	if min(unplaced, evictions) == 0 {
		t.Error("some outcome never occurs")
	}
}

// cpuOf returns the cpu that the pods of a node ask for, what the node has, and whether a pod that asks for some came to it.
func cpuOf(stated, now *api.Cluster, node int) (used, room int64, came bool) {
	amount := func(r api.Resources) int64 {
		i := slices.IndexFunc(r, func(q api.Quantity) bool { return q.Resource == "cpu" })
		if i < 0 {
			return 0
		}
		return r[i].Amount
	}
	n, before := &now.Nodes[node], make(map[string]bool)
	for _, p := range stated.Nodes[node].Pods {
		before[p.Name] = true
	}
	for i := range n.Pods {
		asks := amount(n.Pods[i].Template.Spec.Containers[0].Requests)
		used, came = used+asks, came || asks > 0 && !before[n.Pods[i].Name]
	}
	for _, p := range n.PodCounts {
		used += int64(p.Count) * amount(now.Templates[p.Template].Spec.Containers[0].Requests)
	}
	return used, amount(n.Allocatable), came
}

// TestScheduleAtAnyDeadline: whenever the deadline comes, the counts are right, and no attempted pod is without a text.
func TestScheduleAtAnyDeadline(t *testing.T) {
	c := compile(t, node4("a").Run(cpu("victim", 2, 0), cpu("victim-2", 2, 0)), node4("b").Zone("z"))
	gated := cpu("gated", 1, 0)
	gated.Template.Spec.SchedulingGates = []string{"example.com/quota"}
	var queue []engine.Pending
	for _, p := range []*enginetest.Pod{
		cpu("waits", 4, 100).Affinity(hostname, enginetest.Selects("app", "x")), cpu("x", 0, 100).Label("app", "x"), gated,
		cpu("nominated", 1, 0).NominatedTo("a"), cpu("high", 3, 7), cpu("low", 3, 1), cpu("large", 5, 1), cpu("last", 4, -1),
	} {
		queue = append(queue, engine.Pending{Pod: p.Pod, Count: 2})
	}
	o := engine.PlaceOptions{Profile: api.Kube137(), Scheduler: true, Preempt: true, Explain: true, Changes: true, Partial: true}
	explained := make(map[int]bool)
	for looks := 0; ; looks++ {
		p, err := c.Place(&ending{t.Context(), looks}, queue, o)
		if err != nil {
			t.Fatal(err)
		}
		n := 0
		for i := range p.Placements {
			r := &p.Placements[i]
			if len(r.Nodes)+r.Unplaced+r.Evicted != queue[i].Count || r.Unattempted < 0 || r.Unattempted > r.Unplaced {
				t.Fatalf("entry %d after %d looks: %+v", i, looks, r)
			}
			if (r.Unplaced > r.Unattempted) != (r.Message != "") {
				t.Errorf("entry %d after %d looks: %d unplaced, %d unattempted, message %q", i, looks, r.Unplaced, r.Unattempted, r.Message)
			}
			if r.Explanation != nil {
				n++
			}
		}
		explained[n] = true
		if !p.Partial {
			break
		}
		if looks > 100_000 {
			t.Fatal("no end")
		}
	}
	if len(explained) < 3 {
		t.Errorf("no deadline comes between two explanations: %v", explained)
	}
}

// fullNodes returns nodes that are each full with one pod.
func fullNodes(n int) *api.Cluster {
	stated := &api.Cluster{Templates: []*api.PodTemplate{{Namespace: "default"}}}
	for i := range n {
		stated.Nodes = append(stated.Nodes, api.Node{
			Name: fmt.Sprint("n", i), NodeSpec: api.NodeSpec{Allocatable: api.Resources{{Resource: "pods", Amount: 1}}},
			PodCounts: []api.PodCount{{Count: 1}},
		})
	}
	return stated
}

// TestScheduleListsABoundedNumberOfNodes: entries that fail alike have one failure, but each has its lists in the answer.
func TestScheduleListsABoundedNumberOfNodes(t *testing.T) {
	const nodes, most = 50_000, verdict.MaxListedNodes / 50_000
	gated := enginetest.MakePod("gated")
	gated.Template.Spec.SchedulingGates = []string{"example.com/quota"}
	for name, pod := range map[string]*enginetest.Pod{"alike": enginetest.MakePod("x").Priority(-1), "gated": gated} {
		queue := slices.Repeat([]engine.Pending{{Pod: pod.Pod, Count: 1}}, most+2)
		o := engine.PlaceOptions{Profile: api.Kube137(), Scheduler: true, Preempt: true}
		p, err := compiled(t, fullNodes(nodes)).Place(t.Context(), queue, o)
		if err != nil {
			t.Fatal(err)
		}
		for i := range p.Placements {
			r := &p.Placements[i]
			if has, want := r.Rejections != nil, i < most; has != want || r.Message == "" {
				t.Errorf("%s: entry %d has rejections: %t, want %t", name, i, has, want)
			}
			if has, want := r.Preemption != nil, i < most && name == "alike"; has != want {
				t.Errorf("%s: entry %d has a preemption: %t, want %t", name, i, has, want)
			}
		}
	}
}
