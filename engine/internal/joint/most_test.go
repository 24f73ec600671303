package joint

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stowage-scheduler/stowage/engine/api"
	"github.com/stowage-scheduler/stowage/engine/enginetest"
)

// randomPacking returns a group whose pods meet in resources alone, and the priorities of its members.
func randomPacking(t *testing.T, rng *rand.Rand) (g *Group, priorities []int32) {
	t.Helper()
	var nodes []*enginetest.Node
	for i := range 1 + rng.IntN(3) {
		n := enginetest.MakeNode(fmt.Sprint("n", i)).Label("disk", fmt.Sprint(rng.IntN(2)))
		nodes = append(nodes, n.Allocate("cpu", 1000+100*rng.IntN(3), "memory", 1000+100*rng.IntN(3), "pods", 2+rng.IntN(9)))
		if rng.IntN(6) == 0 {
			n.Cordon()
		}
	}
	var members []enginetest.Member
	for i := range 1 + rng.IntN(5) {
		p := enginetest.MakePod(fmt.Sprint("p", i)).Request("cpu", 100*rng.IntN(8), "memory", 100*rng.IntN(8))
		if rng.IntN(4) == 0 {
			p.Template.Spec.NodeSelector = api.LabelsOf(map[string]string{"disk": "1"})
		}
		members = append(members, enginetest.Member{Pod: p.Pod, Count: 1 + rng.IntN(2)})
		priorities = append(priorities, int32(rng.IntN(3)))
	}
	return groupOf(t, enginetest.Cluster(nodes...), members), priorities
}

// most returns the numbers of pods by priority, highest first, that have a node in the best assignment. It tries all.
func (g *Group) most(priorities []int32) []int {
	var pods []int
	for i, r := range g.replicas {
		for range r.count {
			pods = append(pods, i)
		}
	}
	best := make([]int, 3)
	var assigned []Assignment
	var try func(k int)
	try = func(k int) {
		if k == len(pods) {
			counts := countByPriority(assigned, priorities)
			if slices.Compare(counts, best) > 0 {
				best = counts
			}
			return
		}
		for n := range uint32(g.nodes) {
			assigned = append(assigned, Assignment{Replicas: pods[k], Node: n})
			if g.satisfied(assigned) {
				try(k + 1)
			}
			assigned = assigned[:len(assigned)-1]
		}
		try(k + 1)
	}
	try(0)
	return best
}

func countByPriority(assigned []Assignment, priorities []int32) []int {
	counts := make([]int, 3)
	for _, a := range assigned {
		counts[2-priorities[a.Replicas]]++
	}
	return counts
}

// TestMost compares with trying all assignments. Every answer that is called optimal must be, and few are not.
func TestMost(t *testing.T) {
	t.Parallel()
	seen := map[string]int{}
	for seed := range uint64(400) {
		g, priorities := randomPacking(t, rand.New(rand.NewPCG(seed, 7)))
		budget := &Budget{Context: context.Background(), Limit: 1 << 20}
		if seed%4 == 3 {
			budget.Limit = int(seed % 40)
		}
		var floor []Assignment
		if seed%2 == 0 {
			floor = g.oneByOne()
		}
		assigned, optimal := g.Most(g.order(), priorities, floor, budget)
		if !g.Packs() || !g.satisfied(assigned) {
			t.Fatalf("seed %d: %v, applies: %v", seed, assigned, g.Packs())
		}
		if budget.Limit == 1<<20 && !optimal {
			t.Errorf("seed %d: %v is not proved in %d steps", seed, assigned, budget.Steps)
		}
		left := 0
		used := make([]int, len(g.replicas))
		for _, a := range assigned {
			used[a.Replicas]++
		}
		for i, r := range g.replicas {
			if left += r.count - used[i]; used[i] > r.count {
				t.Fatalf("seed %d: %v has too many pods of %d", seed, assigned, i)
			}
		}
		want, got := g.most(priorities), countByPriority(assigned, priorities)
		if slices.Compare(got, countByPriority(floor, priorities)) < 0 {
			t.Errorf("seed %d: %v is less than %v", seed, assigned, floor)
		}
		switch c := slices.Compare(got, want); {
		case optimal && c != 0 || c > 0:
			t.Errorf("seed %d: %v, the best is %v; optimal: %v", seed, got, want, optimal)
		case !optimal:
			seen["unproved"]++
		case left > 0:
			seen["not all"]++
		default:
			seen["all"]++
		}
		again := &Budget{Context: context.Background(), Limit: budget.Limit}
		if same, _ := g.Most(g.order(), priorities, floor, again); !slices.Equal(assigned, same) || again.Steps != budget.Steps {
			t.Errorf("seed %d: another answer", seed)
		}
	}
	t.Log(seen)
	if seen["all"] < 50 || seen["not all"] < 50 || seen["unproved"] == 0 {
		t.Error("some outcome is rare")
	}
}

// hardPacking returns pods of about a third to a half of a node, and further nodes that no pod fits on.
func hardPacking(t *testing.T, pods, nodes, useless int) *Group {
	t.Helper()
	rng := rand.New(rand.NewPCG(1, 2))
	var all []*enginetest.Node
	for i := range nodes {
		all = append(all, enginetest.MakeNode(fmt.Sprint("n", i)).Allocate("cpu", 100_000, "pods", 110))
	}
	for i := range useless {
		all = append(all, enginetest.MakeNode(fmt.Sprint("small", i)).Allocate("cpu", 1000+i, "pods", 110))
	}
	var members []enginetest.Member
	for i := range pods {
		p := enginetest.MakePod(fmt.Sprint("p", i)).Request("cpu", 33_400+rng.IntN(16_000))
		members = append(members, enginetest.Member{Pod: p.Pod, Count: 1})
	}
	return groupOf(t, enginetest.Cluster(all...), members)
}

// TestMostUselessNodes has many nodes that no pod fits on: they cost no steps.
func TestMostUselessNodes(t *testing.T) {
	t.Parallel()
	var assigned []Assignment
	steps := 0
	for _, useless := range []int{0, 3000} {
		g, budget := hardPacking(t, 24, 8, useless), &Budget{Context: context.Background(), Limit: 1 << 18}
		got, _ := g.Most(g.order(), make([]int32, 24), nil, budget)
		if useless == 0 {
			assigned, steps = got, budget.Steps
		}
		if !slices.Equal(got, assigned) || budget.Steps != steps || len(got) != 16 {
			t.Errorf("%d useless nodes: %d pods in %d steps, without them %d in %d", useless, len(got), budget.Steps, len(assigned), steps)
		}
	}
}

// TestMostOnFewNodes has pods that may go to one node of two each, which have little room. Others have plenty.
func TestMostOnFewNodes(t *testing.T) {
	t.Parallel()
	disk := func(kind string) map[string]string { return map[string]string{"disk": kind} }
	var nodes []*enginetest.Node
	for i := range 12 {
		n := enginetest.MakeNode(fmt.Sprint("n", i)).Allocate("cpu", 100_000, "pods", 110).Label("disk", "slow")
		if i < 2 {
			n = enginetest.MakeNode(fmt.Sprint("n", i)).Allocate("cpu", 2000, "pods", 110).Label("disk", fmt.Sprint("fast", i))
		}
		nodes = append(nodes, n)
	}
	var members []enginetest.Member
	for i := range 2 {
		p := enginetest.MakePod(fmt.Sprint("p", i)).Request("cpu", 1000)
		p.Template.Spec.NodeSelector = api.LabelsOf(disk(fmt.Sprint("fast", i)))
		members = append(members, enginetest.Member{Pod: p.Pod, Count: 70})
	}
	members = append(members, enginetest.Member{Pod: enginetest.MakePod("any").Request("cpu", 1000).Pod, Count: 5})
	g, budget := groupOf(t, enginetest.Cluster(nodes...), members), &Budget{Context: context.Background(), Limit: 1 << 20}
	got, optimal := g.Most(g.order(), make([]int32, 3), nil, budget)
	if len(got) != 9 || !optimal || budget.Steps > 1<<14 {
		t.Errorf("%d pods in %d steps, optimal: %t; want 9 in few steps", len(got), budget.Steps, optimal)
	}
}

// oneByOne assigns each pod to the first node that it fits on.
func (g *Group) oneByOne() (assigned []Assignment) {
	for i, r := range g.replicas {
		for range r.count {
			for n := range uint32(g.nodes) {
				if more := append(slices.Clip(assigned), Assignment{Replicas: i, Node: n}); g.satisfied(more) {
					assigned = more
					break
				}
			}
		}
	}
	return assigned
}

// TestMostEnded has a context that has ended: it returns the floor.
func TestMostEnded(t *testing.T) {
	t.Parallel()
	g := hardPacking(t, 24, 30, 0)
	ended, cancel := context.WithCancel(context.Background())
	cancel()
	floor := g.oneByOne()[:7]
	got, optimal := g.Most(g.order(), make([]int32, 24), floor, &Budget{Context: ended, Limit: 1 << 20})
	slices.SortFunc(got, func(a, b Assignment) int { return a.Replicas - b.Replicas })
	if optimal || !slices.Equal(got, floor) {
		t.Errorf("%v, optimal: %t, want %v and no proof", got, optimal, floor)
	}
}

// TestExactMemory proves that 11 pods do not fit where 10 do, also if few failed states are remembered.
func TestExactMemory(t *testing.T) {
	t.Parallel()
	for _, limit := range []int{maxFailed, 1 << 13} {
		g := hardPacking(t, 12, 5, 0)
		budget := &Budget{Context: context.Background(), Limit: 1 << 20}
		x := newPacker(g, g.order(), make([]int32, 12), budget).newExact(0, []int{11}, budget)
		x.limit = limit
		found, size := x.assign(0), 0
		for state := range x.failed {
			size += len(state) + failedEntry
		}
		if found || budget.Exhausted() || size == 0 || size > limit {
			t.Errorf("found: %t in %d steps, %d bytes are remembered, at most %d are allowed", found, budget.Steps, size, limit)
		}
	}
}

// TestMostApplies leaves groups alone whose pods meet each other in other rules.
func TestMostApplies(t *testing.T) {
	t.Parallel()
	for seed := range uint64(200) {
		g := group(t, rand.New(rand.NewPCG(seed, 8)))
		budget := &Budget{Context: context.Background(), Limit: 1 << 16}
		if !g.Packs() {
			continue
		}
		if assigned, _ := g.Most(g.order(), make([]int32, len(g.replicas)), nil, budget); !g.satisfied(assigned) {
			t.Errorf("seed %d: %v", seed, assigned)
		}
	}
	if kindsGroup(t).Packs() {
		t.Error("it applies to a group with every kind of rule")
	}
}

// kindsGroup returns a group of pods that exclude each other.
func kindsGroup(t *testing.T) *Group {
	t.Helper()
	p := enginetest.MakePod("p").Label("app", "a").AntiAffinity("kubernetes.io/hostname", enginetest.Selects("app", "a"))
	input := enginetest.Cluster(enginetest.MakeNode("a").Label("kubernetes.io/hostname", "a").Allocate("cpu", 1000, "pods", 9))
	return groupOf(t, input, []enginetest.Member{{Pod: p.Pod, Count: 2}})
}
