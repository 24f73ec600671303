package engine_test

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"reflect"
	"slices"
	"sync"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"

	"github.com/stowage-scheduler/stowage/engine"
	"github.com/stowage-scheduler/stowage/engine/api"
	"github.com/stowage-scheduler/stowage/engine/enginetest"
	"github.com/stowage-scheduler/stowage/engine/verdict"
)

// TestWhatIfAsIfCompiled compares random scenarios with Place on the cluster rebuilt after the scenario. All
// scenarios of a cluster run at once and share it.
func TestWhatIfAsIfCompiled(t *testing.T) {
	t.Parallel()
	seen := make(map[string]int)
	for seed := range uint64(cases(4000)) {
		rng := rand.New(rand.NewPCG(seed, 160))
		stated, pods := randomDisruptable(rng)
		if seed%4 == 3 {
			withDevices(rng, stated, pods)
		}
		c := compiled(t, stated)
		before := ask(t, c, pods)
		type one struct {
			s    *engine.Scenario
			o    engine.WhatIfOptions
			want *verdict.WhatIf
		}
		var all []one
		for range 3 {
			o := engine.WhatIfOptions{Profile: api.Kube137(), Seed: rng.Uint64N(2), Scheduler: rng.IntN(3) == 0}
			o.FewestPods = o.Seed == 1
			s := randomScenario(rng, stated, pods, o.Scheduler)
			all = append(all, one{s, o, statedAfter(t, stated, s, o)})
		}
		var running sync.WaitGroup
		for i, one := range all {
			running.Go(func() {
				got, err := c.WhatIf(context.Background(), one.s, one.o)
				if err != nil {
					t.Error(err)
					return
				}
				withoutScans(&got.Place)
				if !reflect.DeepEqual(one.want, got) {
					t.Errorf("seed %d, scenario %d: %+v (-stated +derived):\n%s", seed, i, one.s, gocmp.Diff(one.want, got))
				}
			})
		}
		running.Wait()
		if diff := difference(before, ask(t, c, pods)); diff != "" {
			t.Errorf("seed %d: the cluster changed: %s", seed, diff)
		}
		if t.Failed() {
			return
		}
		for _, one := range all {
			tally(seen, one.s, one.want)
		}
	}
	for _, what := range []string{
		"placed", "unplaced", "cordoned", "gone", "terminating", "drained", "named", "counted", "removed", "requeued", "unknown",
		"stopped", "groups", "evictions", "devices",
	} {
		if seen[what] < cases(100) {
			t.Errorf("%s: only %d scenarios", what, seen[what])
		}
	}
}

// tally counts what a scenario has.
func tally(seen map[string]int, s *engine.Scenario, w *verdict.WhatIf) {
	has := func(what string, is bool) {
		if is {
			seen[what]++
		}
	}
	has("cordoned", len(s.Cordoned) > 0)
	has("removed", len(s.Removed) > 0)
	has("groups", len(s.Groups) > 0)
	has("evictions", len(w.Evictions) > 0)
	has("stopped", w.Stopped)
	has("devices", len(w.Devices) > 0)
	has("gone", len(s.Evictions) > 0 && !s.Terminating)
	has("terminating", len(s.Evictions) > 0 && s.Terminating)
	for _, e := range s.Evictions {
		has("drained", e.Drained)
		has("named", len(e.Named) > 0)
		has("counted", len(e.Counted) > 0)
	}
	for _, p := range w.Placements {
		has("placed", len(p.Nodes) > 0)
		has("unplaced", p.Unplaced > 0)
	}
	for _, r := range w.Requeued {
		has("requeued", !r.Unknown)
		has("unknown", r.Unknown)
	}
}

func withoutScans(p *verdict.Place) {
	for i := range p.Placements {
		p.Placements[i].Scanned = 0
	}
}

// randomDisruptable returns a random cluster with pods of every form and controllers of every kind. Counts are in canonical
// order, as in snapshots.
func randomDisruptable(rng *rand.Rand) (*api.Cluster, []api.Pod) {
	stated, pods := enginetest.RandomShared(rng)
	if rng.IntN(2) == 0 {
		enginetest.RandomVictims(rng, stated, pods)
	}
	kinds := []api.WorkloadKind{
		api.NoWorkload, api.ReplicaSet, api.ReplicaSet, api.StatefulSet, api.DaemonSet, api.OtherController,
	}
	control := func(p *api.PodTemplate) {
		if p.Controller.Kind == api.NoWorkload {
			p.Controller = api.ControllerReference{Kind: kinds[rng.IntN(len(kinds))], Name: "set"}
		}
	}
	for _, p := range stated.Templates {
		control(p)
	}
	for i := range stated.Nodes {
		n := &stated.Nodes[i]
		n.PodCounts = inOrder(n.PodCounts)
		for j := range n.Pods {
			control(n.Pods[j].Template)
		}
	}
	for _, t := range stated.Templates {
		t.Spec.SchedulingGroup = []string{"", "", "0", "1"}[rng.IntN(4)]
	}
	return stated, pods
}

// inOrder merges counts and sorts them as snapshots do.
func inOrder(counts []api.PodCount) (out []api.PodCount) {
	for _, p := range counts {
		same := func(o api.PodCount) bool { return o.Template == p.Template && o.Terminating == p.Terminating }
		if i := slices.IndexFunc(out, same); i >= 0 {
			out[i].Count += p.Count
		} else if p.Count > 0 {
			out = append(out, p)
		}
	}
	slices.SortFunc(out, func(a, b api.PodCount) int {
		return cmp.Or(cmp.Compare(a.Template, b.Template), cmp.Compare(b2i(a.Terminating), b2i(b.Terminating)))
	})
	return out
}

func b2i(b bool) int {
	if b {
		return 1
	}
	return 0
}

func randomScenario(rng *rand.Rand, stated *api.Cluster, pods []api.Pod, scheduler bool) *engine.Scenario {
	s := &engine.Scenario{Requeue: rng.IntN(3) > 0, Terminating: rng.IntN(2) == 0, Stop: !scheduler && rng.IntN(3) == 0}
	for i := range stated.Nodes {
		if rng.IntN(6) == 0 {
			s.Cordoned = append(s.Cordoned, uint32(i))
		}
		if rng.IntN(3) == 0 {
			s.Evictions = append(s.Evictions, randomEvictions(rng, &stated.Nodes[i], uint32(i)))
		}
		if rng.IntN(8) == 0 {
			s.Removed = append(s.Removed, uint32(i))
		}
	}
	rng.Shuffle(len(s.Cordoned), func(i, j int) { s.Cordoned[i], s.Cordoned[j] = s.Cordoned[j], s.Cordoned[i] })
	rng.Shuffle(len(s.Evictions), func(i, j int) { s.Evictions[i], s.Evictions[j] = s.Evictions[j], s.Evictions[i] })
	for _, p := range pods {
		if rng.IntN(3) > 0 {
			s.Queue = append(s.Queue, engine.Pending{Pod: p, Count: rng.IntN(3)})
		}
	}
	if rng.IntN(3) > 0 {
		return s
	}
	for len(s.Groups) < 2 {
		g := engine.PodGroup{Name: fmt.Sprint("default/", len(s.Groups)), Minimum: rng.IntN(2)}
		for e := range s.Queue {
			taken := slices.ContainsFunc(s.Groups, func(o engine.PodGroup) bool { return slices.Contains(o.Entries, e) })
			if !taken && rng.IntN(3) == 0 {
				g.Entries = append(g.Entries, e)
			}
		}
		if rng.IntN(2) == 0 {
			g.Keys = []string{zone}
		}
		s.Groups = append(s.Groups, g)
	}
	return s
}

func randomEvictions(rng *rand.Rand, n *api.Node, index uint32) engine.NodeEvictions {
	e := engine.NodeEvictions{Node: index}
	if e.Drained = rng.IntN(3) == 0; e.Drained {
		return e
	}
	for i := range n.Pods {
		if rng.IntN(2) == 0 {
			e.Named = append(e.Named, i)
		}
	}
	rng.Shuffle(len(e.Named), func(i, j int) { e.Named[i], e.Named[j] = e.Named[j], e.Named[i] })
	for _, p := range n.PodCounts {
		for left := p.Count; left > 0 && rng.IntN(2) == 0; {
			p.Count = 1 + rng.Int32N(left)
			left -= p.Count
			e.Counted = append(e.Counted, p)
		}
	}
	return e
}

// statedAfter states the cluster after a scenario, and returns what Place answers there.
func statedAfter(t testing.TB, stated *api.Cluster, s *engine.Scenario, o engine.WhatIfOptions) *verdict.WhatIf {
	t.Helper()
	after := *stated
	after.Nodes = slices.Clone(stated.Nodes)
	for _, i := range s.Cordoned {
		n := &after.Nodes[i]
		n.Unschedulable = true
		taints := n.Taints
		if n.Class != nil {
			taints = slices.Concat(n.Class.Taints, n.Taints)
		}
		if !slices.ContainsFunc(taints, func(t api.Taint) bool {
			return t.Key == "node.kubernetes.io/unschedulable" && t.Effect == api.NoSchedule
		}) {
			n.Taints = append(slices.Clip(n.Taints), api.Taint{Key: "node.kubernetes.io/unschedulable", Effect: api.NoSchedule})
		}
	}
	queue := slices.Clone(s.Queue)
	var requeued, unknown []verdict.Requeued
	back := func(p *api.Pod, node uint32, count int32) {
		kind := p.Template.Controller.Kind
		if !s.Requeue || p.Terminating || kind == api.NoWorkload || kind == api.DaemonSet {
			return
		}
		ref := verdict.PodReference{
			Namespace: p.Template.Namespace, Name: p.Name, Node: node, Count: int(count), Template: p.TemplateIndex, Queue: -1,
		}
		if p.TemplateIndex < 0 {
			unknown = append(unknown, verdict.Requeued{Pod: ref, Unknown: true})
			return
		}
		again := api.Pod{Template: p.Template, TemplateIndex: p.TemplateIndex, Labels: p.Labels}
		queue = append(queue, engine.Pending{Pod: again, Count: int(count)})
		requeued = append(requeued, verdict.Requeued{Pod: ref})
	}
	for _, e := range s.Evictions {
		evictStated(&after, &e, s.Terminating, func(p *api.Pod, count int32) { back(p, e.Node, count) })
	}
	kept := after.Nodes[:0:0]
	var before []uint32
	for i, n := range after.Nodes {
		if !slices.Contains(s.Removed, uint32(i)) {
			kept, before = append(kept, n), append(before, uint32(i))
		} else {
			withoutNode(&after, &n)
		}
	}
	after.Nodes = kept
	// The fate of preempted pods is compared with kube-scheduler elsewhere, and by hand in TestPreemptedPodsComeBack.
	w, err := compiled(t, &after).WhatIf(t.Context(), &engine.Scenario{
		Queue: queue, Groups: s.Groups, Stop: s.Stop, Requeue: s.Requeue,
	}, o)
	if err != nil {
		t.Fatal(err)
	}
	p := &w.Place
	withoutScans(p)
	for _, r := range unknown {
		p.Placements = append(p.Placements, verdict.Placement{Unplaced: r.Pod.Count})
	}
	moved := make(map[*uint32]bool) // lists that placements share are renumbered once
	renumber := func(nodes []uint32) {
		if len(nodes) == 0 || moved[&nodes[0]] {
			return
		}
		moved[&nodes[0]] = true
		for i, n := range nodes {
			nodes[i] = before[n]
		}
	}
	for _, of := range p.Placements {
		renumber(of.Nodes)
		for _, r := range of.Rejections {
			renumber(r.Nodes)
		}
	}
	p.Bindings = slices.Clone(p.Bindings)
	for i := range p.Bindings {
		p.Bindings[i].Node = before[p.Bindings[i].Node]
	}
	p.Devices = slices.Clone(p.Devices)
	for i := range p.Devices {
		p.Devices[i].Node = before[p.Devices[i].Node]
	}
	for i := range p.Evictions {
		e := &p.Evictions[i]
		if e.Group == "" {
			e.Node = before[e.Node]
		}
		for _, n := range e.Nominations {
			renumber(n.Nodes)
		}
		for j := range e.Victims {
			e.Victims[j].Node = before[e.Victims[j].Node]
		}
	}
	for i := range w.Requeued {
		of := &w.Requeued[i].Pod
		of.Node = before[of.Node]
	}
	for i := range p.Doubts {
		if of := &p.Doubts[i].Pod; of.Node != verdict.NoNode {
			of.Node = before[of.Node]
		}
	}
	return &verdict.WhatIf{Place: *p, Requeued: slices.Concat(requeued, w.Requeued, unknown)}
}

// TestWhatIfRenumbersGroupEvictions: a group preempts behind a node that is removed.
func TestWhatIfRenumbersGroupEvictions(t *testing.T) {
	c := compile(t, node4("a"), node4("b").Run(cpu("low", 4, 0)), node4("c"))
	s := &engine.Scenario{
		Removed: []uint32{0}, Queue: []engine.Pending{{Pod: cpu("g", 4, 10).Pod, Count: 2}},
		Groups: []engine.PodGroup{{Name: "gang", Entries: []int{0}, Priority: new(int32(10))}},
	}
	got, err := c.WhatIf(t.Context(), s, engine.WhatIfOptions{Profile: api.Kube137(), Scheduler: true})
	if err != nil {
		t.Fatal(err)
	}
	want := []verdict.Eviction{{
		Group: "gang", Nominations: []verdict.GroupNomination{{Nodes: []uint32{1, 2}}},
		Candidate: verdict.Candidate{Victims: []verdict.PodReference{
			{Namespace: "default", Name: "low", Node: 1, Count: 1, Template: -1, Queue: -1},
		}},
	}}
	if diff := gocmp.Diff(want, got.Evictions); diff != "" || len(got.Placements[0].Nodes) != 2 {
		t.Errorf("%+v (-want +got):\n%s", got.Placements, diff)
	}
}

// TestWhatIfRenumbersClaimBindings: a pod binds a claim behind a node that is removed.
func TestWhatIfRenumbersClaimBindings(t *testing.T) {
	stated := &api.Cluster{Nodes: []api.Node{node4("a").Node, node4("b").Node}, Storage: api.Storage{
		Classes: []api.StorageClass{{Name: "fast", Provisioner: "disk", VolumeBindingMode: api.WaitForFirstConsumer}},
		Claims:  []api.PersistentVolumeClaim{{Namespace: "default", Name: "data", Spec: api.ClaimSpec{StorageClassName: "fast"}}},
	}}
	pod := cpu("p", 1, 0).Pod
	pod.Template.Spec.Volumes = []api.PodVolume{{Claim: &api.PodClaim{Name: "data"}}}
	for _, whole := range []bool{false, true} {
		got, err := compiled(t, stated).WhatIf(t.Context(), &engine.Scenario{
			Removed: []uint32{0}, Queue: []engine.Pending{{Pod: pod, Count: 1}},
		}, engine.WhatIfOptions{Profile: api.Kube137(), Scheduler: whole})
		if err != nil {
			t.Fatal(err)
		}
		if len(got.Bindings) != 1 || got.Bindings[0].Node != 1 {
			t.Errorf("%+v: %+v", got.Placements, got.Bindings)
		}
	}
}

// evictStated evicts pods of a node in a message and passes them to back.
func evictStated(c *api.Cluster, e *engine.NodeEvictions, terminating bool, back func(p *api.Pod, count int32)) {
	n := &c.Nodes[e.Node]
	named, counted := e.Named, e.Counted
	if e.Drained {
		for _, p := range n.PodCounts {
			if c.Templates[p.Template].Controller.Kind != api.DaemonSet {
				counted = append(counted, p)
			}
		}
		for i := range n.Pods {
			if n.Pods[i].Template.Controller.Kind != api.DaemonSet {
				named = append(named, i)
			}
		}
	}
	backCounted := func() {
		for _, p := range counted {
			back(&api.Pod{Template: c.Templates[p.Template], TemplateIndex: p.Template, Terminating: p.Terminating}, p.Count)
		}
	}
	if e.Drained {
		backCounted()
	}
	for _, i := range named {
		back(&n.Pods[i], 1)
	}
	if !e.Drained {
		backCounted()
	}
	counts := slices.Clone(n.PodCounts)
	for _, p := range counted {
		counts = append(counts, api.PodCount{Template: p.Template, Terminating: p.Terminating, Count: -p.Count})
		if terminating {
			counts = append(counts, api.PodCount{Template: p.Template, Terminating: true, Count: p.Count})
		}
	}
	n.PodCounts = summed(counts)
	var pods []api.Pod
	for i, p := range n.Pods {
		if slices.Contains(named, i) {
			if !terminating {
				leave(c, p.Template.Namespace, p.Name)
				continue
			}
			p.Terminating = true
		}
		pods = append(pods, p)
	}
	n.Pods = pods
}

// summed merges counts, negative ones among them, and leaves out zeros.
func summed(counts []api.PodCount) []api.PodCount {
	sums := make(map[api.PodCount]int32)
	for _, p := range counts {
		sums[api.PodCount{Template: p.Template, Terminating: p.Terminating}] += p.Count
	}
	var out []api.PodCount
	for p, n := range sums {
		if p.Count = n; n > 0 {
			out = append(out, p)
		}
	}
	return inOrder(out)
}

// TestPlaceStops compares a queue that ends at the first unplaced pod with the whole queue.
func TestPlaceStops(t *testing.T) {
	stopped := 0
	for seed := range uint64(cases(2000)) {
		rng := rand.New(rand.NewPCG(seed, 161))
		stated, pods := randomDisruptable(rng)
		c := compiled(t, stated)
		s := randomScenario(rng, stated, pods, false)
		o := engine.PlaceOptions{Profile: api.Kube137(), Groups: s.Groups}
		whole, err := c.Place(t.Context(), s.Queue, o)
		if err != nil {
			t.Fatal(err)
		}
		group := make([]int, len(s.Queue))
		for e := range group {
			group[e] = slices.IndexFunc(s.Groups, func(g engine.PodGroup) bool { return slices.Contains(g.Entries, e) })
		}
		w := &watched{
			nodes: make([][]uint32, len(s.Queue)), groups: make(map[int]verdict.PodGroupPlacement), done: make([]bool, len(s.Queue)),
		}
		o.StopAtUnplaced, o.Watch = true, w
		got, err := c.Place(t.Context(), s.Queue, o)
		if err != nil {
			t.Fatal(err)
		}
		// The order of attempts: groups without entries, then entries, each with its group.
		ended, attempted := false, make(map[int]bool)
		for e := range s.Queue {
			if g := group[e]; g >= 0 && !attempted[g] {
				attempted[g] = !ended
				ended = ended || whole.Groups[g].Unplaced > 0
			}
			in := group[e] < 0 && !ended || group[e] >= 0 && attempted[group[e]]
			if in != (got.Placements[e].Unattempted == 0) && s.Queue[e].Count > 0 {
				t.Fatalf("seed %d: entry %d is attempted: %v: %+v", seed, e, in, got.Placements[e])
			} else if in && !reflect.DeepEqual(withoutScan(whole.Placements[e]), withoutScan(got.Placements[e])) {
				t.Fatalf("seed %d, entry %d (-whole +stopped):\n%s", seed, e, gocmp.Diff(whole.Placements[e], got.Placements[e]))
			}
			ended = ended || group[e] < 0 && whole.Placements[e].Unplaced > 0
		}
		for i := range s.Groups {
			if (got.Groups[i].Status == verdict.GroupUnattempted) != (len(s.Groups[i].Entries) > 0 && !attempted[i]) {
				t.Fatalf("seed %d, group %d: %+v", seed, i, got.Groups[i])
			}
		}
		if got.Stopped != ended {
			t.Fatalf("seed %d: stopped %v, want %v", seed, got.Stopped, ended)
		}
		if got.Stopped {
			stopped++
		}
		for e, nodes := range w.nodes {
			if !slices.Equal(nodes, got.Placements[e].Nodes) {
				t.Fatalf("seed %d, entry %d: told of %v, then of %v", seed, e, nodes, got.Placements[e].Nodes)
			}
		}
	}
	if stopped < cases(200) {
		t.Errorf("only %d queues stopped", stopped)
	}
}

func withoutScan(p verdict.Placement) verdict.Placement {
	p.Scanned = 0
	return p
}

// TestWhatIfEnds ends the context at every moment.
func TestWhatIfEnds(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 162))
	stated, pods := randomDisruptable(rng)
	c := compiled(t, stated)
	s := randomScenario(rng, stated, pods, false)
	s.Removed = []uint32{0}
	s.Groups = nil
	o := engine.WhatIfOptions{Profile: api.Kube137()}
	for looks := range 10_000 {
		_, err := c.WhatIf(&ending{t.Context(), looks}, s, o)
		if err == nil {
			if looks < 5 {
				t.Errorf("after %d looks at the context", looks)
			}
			return
		}
		if !errors.Is(err, context.DeadlineExceeded) {
			t.Fatal(err)
		}
	}
	t.Error("no end")
}

// TestWhatIfEvictsCountedPods evicts equal pods of a node one by one, beside as many with names.
func TestWhatIfEvictsCountedPods(t *testing.T) {
	const pods = 40_000
	template := &api.PodTemplate{Namespace: "default", Controller: api.ControllerReference{Kind: api.ReplicaSet, Name: "web"}}
	node := api.Node{Name: "n", NodeSpec: api.NodeSpec{Allocatable: api.Resources{{Resource: api.ResourcePods, Amount: 2 * pods}}}}
	node.PodCounts = []api.PodCount{{Template: 0, Count: pods}}
	for i := range pods {
		node.Pods = append(node.Pods, api.Pod{Name: fmt.Sprint("p", i), Template: template, TemplateIndex: 0})
	}
	c := compiled(t, &api.Cluster{Templates: []*api.PodTemplate{template}, Nodes: []api.Node{node}})
	counted := c.CountedPods(0)
	if got, terminating := counted(api.PodCount{}), counted(api.PodCount{Terminating: true}); got != pods || terminating != 0 {
		t.Errorf("%d pods are counted, %d of them terminating", got, terminating)
	}
	s := &engine.Scenario{Requeue: true, Evictions: []engine.NodeEvictions{
		{Counted: slices.Repeat([]api.PodCount{{Template: 0, Count: 1}}, pods-1)},
	}}
	if n, err := c.Returning(t.Context(), s); n != pods-1 || err != nil {
		t.Errorf("%d pods come back, %v", n, err)
	}
	queue := []engine.Pending{{Pod: api.Pod{Template: template, TemplateIndex: 0}, Count: pods + 1}}
	o := engine.WhatIfOptions{Profile: api.Kube137()}
	s.Requeue, s.Queue = false, queue
	got, err := c.WhatIf(t.Context(), s, o)
	if err != nil {
		t.Fatal(err)
	}
	if p := got.Placements[0]; len(p.Nodes) != pods-1 || p.Unplaced != 2 {
		t.Errorf("%d pods are placed, %d are not", len(p.Nodes), p.Unplaced)
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := c.Returning(ended, &engine.Scenario{Requeue: true, Evictions: s.Evictions}); !errors.Is(err, context.Canceled) {
		t.Errorf("pods of a call that has ended come back: %v", err)
	}
}
