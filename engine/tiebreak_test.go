package engine_test

import (
	"cmp"
	"context"
	"fmt"
	"math/rand/v2"
	"reflect"
	"runtime"
	"slices"
	"testing"

	"github.com/stowage-scheduler/stowage/engine"
	"github.com/stowage-scheduler/stowage/engine/api"
	"github.com/stowage-scheduler/stowage/engine/enginetest"
	"github.com/stowage-scheduler/stowage/engine/verdict"
)

// podsOn counts the pods on a node, terminating ones included.
func podsOn(n *api.Node) int {
	pods := len(n.Pods)
	for _, c := range n.PodCounts {
		pods += int(c.Count)
	}
	return pods
}

// fewestPods returns the node that FewestPods chooses of the best ones, as the contract says it.
func fewestPods(stated *api.Cluster, seed uint64, best []uint32) uint32 {
	position := make(map[uint32]int)
	for i, n := range engine.Preference(stated, seed) {
		position[n] = i
	}
	return slices.MinFunc(best, func(a, b uint32) int {
		x, y := min(podsOn(&stated.Nodes[a]), 4095), min(podsOn(&stated.Nodes[b]), 4095)
		return cmp.Or(cmp.Compare(x, y), cmp.Compare(position[a]^x, position[b]^y))
	})
}

// TestFewestPodsByHand decides about each pod of a queue in a cluster that is compiled with the pods placed so far, and expects
// one of kube-scheduler's best nodes, and of these the right one.
func TestFewestPodsByHand(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	placed, tied, other := 0, 0, 0
	for seed := range uint64(cases(400)) {
		rng := rand.New(rand.NewPCG(seed, 120))
		stated, profile, pods := randomQueue(rng)
		if seed%2 == 0 {
			stated, pods = enginetest.Random(rng)
			profile = api.Kube137()
		}
		if seed%4 >= 2 { // alike, so that there are ties
			for i := range stated.Nodes {
				n, like := &stated.Nodes[i], &stated.Nodes[i%2]
				n.Allocatable, n.Taints, n.Images, n.Unschedulable = like.Allocatable, like.Taints, like.Images, like.Unschedulable
				n.Class = like.Class
			}
		}
		var queue []engine.Pending
		for _, p := range pods[:min(len(pods), 15)] {
			queue = append(queue, engine.Pending{Pod: p, Count: 1 + rng.IntN(2)*rng.IntN(4)})
		}
		o := engine.PlaceOptions{Profile: profile, Seed: seed % 3, FewestPods: true}
		result, err := compiled(t, stated).Place(ctx, queue, o.WithBoard())
		if err != nil {
			t.Fatal(err)
		}
		for i := range queue {
			for step, node := range result.Placements[i].Nodes {
				score, err := compiled(t, stated).Score(ctx, &queue[i].Pod, engine.ScoreOptions{Profile: profile})
				if err != nil {
					t.Fatal(err)
				}
				if !slices.Contains(score.Best, node) {
					t.Fatalf("seed %d: pod %d of entry %d went to node %d, the best are %v", seed, step, i, node, score.Best)
				}
				if want := fewestPods(stated, o.Seed, score.Best); node != want {
					t.Fatalf("seed %d: pod %d of entry %d went to node %d of %v, not to %d", seed, step, i, node, score.Best, want)
				}
				if placed++; len(score.Best) > 1 {
					tied++
					order := engine.Preference(stated, o.Seed)
					first := slices.IndexFunc(order, func(n uint32) bool { return slices.Contains(score.Best, n) })
					if order[first] != node {
						other++
					}
				}
				stated = on(stated, node, &queue[i].Pod)
			}
			if result.Placements[i].Unplaced > 0 {
				endNomination(t, stated, profile, &queue[i].Pod)
			}
		}
	}
	t.Logf("%d placed, %d of several best nodes, %d not on the first of them", placed, tied, other)
	if tied < placed/50 || other < tied/10 {
		t.Error("the cases no longer have ties")
	}
}

// twelve returns a cluster of twelve equal nodes with as many pods each.
func twelve(running int) *api.Cluster {
	var nodes []*enginetest.Node
	for i := range 12 {
		n := enginetest.MakeNode(fmt.Sprint("n", i)).Allocate("cpu", 64_000, "memory", int64(256)<<30, "pods", 200)
		for j := range running {
			n.Run(enginetest.MakePod(fmt.Sprint("agent-", i, "-", j)).Request("cpu", 50))
		}
		nodes = append(nodes, n)
	}
	return enginetest.Cluster(nodes...)
}

// TestFewestPodsSpreads places 24 small pods on twelve equal nodes, where many go to the first of them by default.
func TestFewestPodsSpreads(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	job := func(name string, cpu int) api.Pod {
		return enginetest.MakePod(name).Request("cpu", cpu, "memory", 32<<20).Pod
	}
	same := []engine.Pending{{Pod: job("job", 20), Count: 24}}
	var alone, turns []engine.Pending
	for i := range 24 {
		alone = append(alone, engine.Pending{Pod: job(fmt.Sprint("job-", i), 20), Count: 1})
		turns = append(turns, engine.Pending{Pod: job(fmt.Sprint("job-", i), 20+i%2), Count: 1})
	}
	all := make([]int, 24)
	for i := range all {
		all[i] = i
	}
	kube := api.Kube137()
	usual, err := compiled(t, twelve(3)).Place(ctx, same, engine.PlaceOptions{Profile: kube})
	if err != nil {
		t.Fatal(err)
	}
	if most := slices.Max(perNode(usual.Placements[0].Nodes)); most < 12 {
		t.Errorf("by default %d pods on one node: the example is none any more", most)
	}
	for how, test := range map[string]struct {
		queue []engine.Pending
		o     engine.PlaceOptions
	}{
		"one entry":            {same, engine.PlaceOptions{}},
		"one entry, by scan":   {same, engine.PlaceOptions{Scan: true}},
		"one entry, by board":  {same, engine.PlaceOptions{}.WithBoard()},
		"an entry each":        {alone, engine.PlaceOptions{Seed: 9}},
		"two kinds in turns":   {turns, engine.PlaceOptions{}},
		"as kube-scheduler":    {alone, engine.PlaceOptions{Scheduler: true}},
		"a group in order":     {alone, engine.PlaceOptions{Groups: []engine.PodGroup{{Name: "g", Entries: all}}}},
		"a group as a whole":   {same, engine.PlaceOptions{Groups: []engine.PodGroup{{Name: "g", Entries: []int{0}, Joint: true}}}},
		"two kinds, by number": {turns, engine.PlaceOptions{Seed: 4}},
	} {
		test.o.Profile, test.o.FewestPods = kube, true
		for _, running := range []int{3, 8} { // an empty node is worse than one with a pod, by balance
			p, err := compiled(t, twelve(running)).Place(ctx, test.queue, test.o)
			if err != nil {
				t.Fatal(err)
			}
			var nodes []uint32
			var kinds [2][]uint32
			for i := range p.Placements {
				nodes = append(nodes, p.Placements[i].Nodes...)
				kinds[i%2] = append(kinds[i%2], p.Placements[i].Nodes...)
			}
			want := slices.Repeat([]int{2}, 12)
			if got := perNode(nodes); !slices.Equal(got, want) {
				t.Errorf("%s, %d running: %v on the nodes", how, running, got)
			}
			if len(p.Placements) > 1 && test.o.Seed == 0 && &test.queue[0] == &turns[0] {
				for _, kind := range kinds {
					if got := perNode(kind); !slices.Equal(got, slices.Repeat([]int{1}, 12)) {
						t.Errorf("%s, %d running: %v pods of one kind on the nodes", how, running, got)
					}
				}
			}
		}
	}
	stated := twelve(3)
	var nodes []uint32
	for range 24 { // each pod in a call of its own
		p, err := compiled(t, stated).Place(ctx, alone[:1], engine.PlaceOptions{Profile: kube, FewestPods: true})
		if err != nil {
			t.Fatal(err)
		}
		nodes = append(nodes, p.Placements[0].Nodes...)
		stated = on(stated, p.Placements[0].Nodes[0], &alone[0].Pod)
	}
	if got := perNode(nodes); !slices.Equal(got, slices.Repeat([]int{2}, 12)) {
		t.Errorf("in 24 calls: %v on the nodes", got)
	}
}

// perNode counts the pods on each of twelve nodes.
func perNode(nodes []uint32) []int {
	counts := make([]int, 12)
	for _, n := range nodes {
		counts[n]++
	}
	return counts
}

// TestFewestPodsOnManyNodes has more pods on nodes than count.
func TestFewestPodsOnManyNodes(t *testing.T) {
	t.Parallel()
	stated := twelve(0)
	template := enginetest.MakePod("").Pod.Template
	template.Spec.Containers = nil
	stated.Templates = append(stated.Templates, template)
	for i := range stated.Nodes {
		n := &stated.Nodes[i]
		n.Allocatable = enginetest.Resources("cpu", 64_000, "memory", int64(256)<<30, "pods", 10_000)
		n.PodCounts = []api.PodCount{{Template: len(stated.Templates) - 1, Count: int32(4090 + 2*(11-i))}}
	}
	queue := []engine.Pending{{Pod: api.Pod{Name: "p", Template: template, TemplateIndex: -1}, Count: 30}}
	for seed := range uint64(3) {
		o := engine.PlaceOptions{Profile: api.Kube137(), Seed: seed, FewestPods: true}
		p, err := compiled(t, stated).Place(context.Background(), queue, o.WithBoard())
		if err != nil {
			t.Fatal(err)
		}
		scanned, err := compiled(t, stated).PlaceByScanning(context.Background(), queue, o)
		if err != nil {
			t.Fatal(err)
		}
		if !slices.Equal(p.Placements[0].Nodes, scanned[0].Nodes) {
			t.Errorf("seed %d: %v, by scanning %v", seed, p.Placements[0].Nodes, scanned[0].Nodes)
		}
		now := stated
		for i, node := range p.Placements[0].Nodes {
			score, err := compiled(t, now).Score(context.Background(), &queue[0].Pod, engine.ScoreOptions{Profile: api.Kube137()})
			if err != nil {
				t.Fatal(err)
			}
			if want := fewestPods(now, seed, score.Best); node != want {
				t.Fatalf("seed %d: pod %d went to node %d, not to %d", seed, i, node, want)
			}
			now = on(now, node, &queue[0].Pod)
		}
	}
}

// TestFewestPodsWhateverTheParallelism expects one answer with any number of cores.
func TestFewestPodsWhateverTheParallelism(t *testing.T) {
	ctx := context.Background()
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(0))
	for seed := range uint64(5) {
		stated, profile, pods := randomQueue(rand.New(rand.NewPCG(seed, 121)))
		var queue []engine.Pending
		for _, p := range pods {
			queue = append(queue, engine.Pending{Pod: p, Count: 2})
		}
		var want [4]any
		for _, cores := range []int{1, 2, 8} {
			runtime.GOMAXPROCS(cores)
			c := compiled(t, stated)
			var got [4]any
			placed, err := c.Place(ctx, queue, engine.PlaceOptions{Profile: profile, FewestPods: true})
			if err != nil {
				t.Fatal(err)
			}
			got[0] = placed
			scheduled, err := c.Place(ctx, queue, engine.PlaceOptions{Profile: profile, FewestPods: true, Scheduler: true})
			if err != nil {
				t.Fatal(err)
			}
			got[1] = scheduled
			fit, err := c.Fit(ctx, queue[:1], engine.FitOptions{Profile: profile, FewestPods: true, Units: 30, TopologyKey: zone})
			if err != nil {
				t.Fatal(err)
			}
			got[2] = fit
			var drains []any
			_, err = c.Drain(ctx, engine.DrainOptions{Profile: profile, FewestPods: true, Force: true, Moves: true}, func(d *verdict.Drain) error {
				drains = append(drains, *d)
				return nil
			})
			if err != nil {
				t.Fatal(err)
			}
			got[3] = drains
			if want[0] == nil {
				want = got
			} else if !reflect.DeepEqual(want, got) {
				t.Errorf("seed %d: another answer with %d cores", seed, cores)
			}
		}
	}
}
