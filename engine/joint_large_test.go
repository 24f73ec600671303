package engine_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"runtime"
	"slices"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/stowage-scheduler/stowage/engine"
	"github.com/stowage-scheduler/stowage/engine/api"
	"github.com/stowage-scheduler/stowage/engine/enginetest"
	"github.com/stowage-scheduler/stowage/engine/enginetest/raced"
	"github.com/stowage-scheduler/stowage/engine/verdict"
)

// unequalRacks returns 5,000 nodes in 1,250 racks and 3 zones with different amounts of free resources. Only the first
// six nodes have no pod of the application x.
func unequalRacks() []*enginetest.Node {
	rng := rand.New(rand.NewPCG(1, 2))
	var nodes []*enginetest.Node
	for i := range 5000 {
		n := enginetest.MakeNode(fmt.Sprint("n", i)).Zone(fmt.Sprint("z", i/4%3)).Label("rack", fmt.Sprint("r", i/4)).
			Allocate("cpu", 4000+rng.IntN(8000), "memory", int64(8+rng.IntN(24))<<30, "pods", 110)
		if i%417 == 0 {
			n.Label("special", "yes")
		}
		if i > 5 {
			n.Run(app("x"))
		}
		nodes = append(nodes, n)
	}
	return nodes
}

// distinct returns eight pods with pairwise different requests. change modifies each.
func distinct(cpu int, change func(i int, p *enginetest.Pod)) []engine.Pending {
	var group []engine.Pending
	for i := range 8 {
		p := enginetest.MakePod(fmt.Sprint("g", i)).Label("g", fmt.Sprint(i)).Label("half", fmt.Sprint(i/4)).
			Request("cpu", cpu+137*i, "memory", (1+i)<<30)
		change(i, p)
		group = append(group, pending(1, p))
	}
	return group
}

var everyG = &api.LabelSelector{MatchExpressions: []api.Requirement{{Key: "g", Operator: api.Exists}}}

func g(i int) *api.LabelSelector { return enginetest.Selects("g", fmt.Sprint(i%8)) }

func half(i int) *api.LabelSelector { return enginetest.Selects("half", fmt.Sprint(i/4)) }

func special(p *enginetest.Pod) {
	p.Template.Spec.NodeSelector = api.Labels{{Key: "special", Value: "yes"}}
}

// TestPlaceJointlyOnManyNodes bounds the steps of the search, alone and as part of PlaceJointly.
func TestPlaceJointlyOnManyNodes(t *testing.T) {
	if raced.Detector && testing.Short() {
		t.Skip("searches of thousands of steps")
	}
	ctx := context.Background()
	unequal := compile(t, unequalRacks()...)
	usual := compiled(t, bigCluster(5000, true))
	chain := func(key string) []engine.Pending {
		return distinct(1000, func(i int, p *enginetest.Pod) {
			if p.Affinity(key, g(i+1)); i == 7 {
				p.AntiAffinity(key, g(3))
			}
		})
	}
	for _, test := range []struct {
		name          string
		cluster       *engine.Cluster
		group         []engine.Pending
		status        verdict.JointStatus
		search, steps int // at most
		conflict      int
		hard          bool // to find out whether the conflict is minimal takes too many steps
	}{
		{"one zone, hosts apart", usual, distinct(1000, func(_ int, p *enginetest.Pod) {
			p.AntiAffinity(hostname, everyG).Affinity(zone, everyG)
		}), verdict.JointComplete, 100, 200, 0, false},
		{"zones apart", usual, distinct(1000, func(_ int, p *enginetest.Pod) { p.AntiAffinity(zone, everyG) }),
			verdict.JointInfeasible, 50, 2000, 3, false},
		{"a chain by zone, its ends apart", usual, chain(zone), verdict.JointInfeasible, 100, 5000, 5, false},
		{"a chain by rack, its ends apart", usual, chain("example.com/rack"), verdict.JointInfeasible, 100, 5000, 5, false},
		{"a chain by host, its ends apart", usual, chain(hostname), verdict.JointInfeasible, 4500, 20_000, 5, false},
		{"a ring by rack", usual, distinct(1000, func(i int, p *enginetest.Pod) { p.Affinity("example.com/rack", g(i+1)) }),
			verdict.JointComplete, 100, 500, 0, false},
		{"spread by zone, rack and host", usual, []engine.Pending{pending(8, enginetest.MakePod("g").Label("g", "0").
			Spread(zone, 1, everyG).Spread("example.com/rack", 1, everyG).Spread(hostname, 1, everyG))},
			verdict.JointComplete, 100, 200, 0, false},
		{"more zones than there are", usual, []engine.Pending{pending(8, func() *enginetest.Pod {
			p := enginetest.MakePod("g").Label("g", "0").Spread(zone, 1, everyG)
			p.Template.Spec.Spread[0].MinDomains = 4
			return p
		}())}, verdict.JointInfeasible, 50, 1000, 1, false},
		{"in one rack, almost too much", unequal, distinct(4500, func(_ int, p *enginetest.Pod) { p.Affinity("rack", everyG) }),
			verdict.JointComplete, 5000, 5000, 0, false},
		{"two halves by rack: one needs the largest nodes", unequal, distinct(100, func(i int, p *enginetest.Pod) {
			p.Request("cpu", 100+9900*(i/4)+137*i, "memory", (1+i)<<30).Affinity("rack", half(i))
		}), verdict.JointComplete, 13_000, 20_000, 0, false},
		{"two halves by rack: one fits nowhere", unequal, distinct(100, func(i int, p *enginetest.Pod) {
			p.Request("cpu", 100+11_880*(i/4), "memory", (1+i)<<30).Affinity("rack", half(i))
		}), verdict.JointInfeasible, 500, 50_000, 5, true},
		{"racks apart, three zones for what needs four", unequal, distinct(300, func(i int, p *enginetest.Pod) {
			p.AntiAffinity("rack", everyG).AntiAffinity(zone, g(i+1)).AntiAffinity(zone, g(i+2)).AntiAffinity(zone, g(i+3))
		}), verdict.JointInfeasible, 100, 5000, 6, false},
		{"hosts evenly where some lag behind", unequal, distinct(300, func(_ int, p *enginetest.Pod) {
			p.Label("app", "x").Spread(hostname, 1, enginetest.Selects("app", "x"))
		}), verdict.JointComplete, 100, 200, 0, false},
		{"too large for twelve unequal nodes", unequal, distinct(8500, func(_ int, p *enginetest.Pod) { special(p) }),
			verdict.JointInfeasible, 1000, 10_000, 12, false},
		{"just not too large for twelve unequal nodes", unequal, distinct(6800, func(_ int, p *enginetest.Pod) { special(p) }),
			verdict.JointComplete, 1000, 1000, 0, false},
		{"apart by rack, one more than there are racks", unequal,
			[]engine.Pending{pending(1251, enginetest.MakePod("g").Label("g", "0").AntiAffinity("rack", everyG))},
			verdict.JointInfeasible, 10, 20_000, 1, false},
	} {
		t.Run(test.name, func(t *testing.T) {
			o := engine.JointOptions{Profile: api.Kube137(), Steps: 50_000}
			nodes, known, steps := test.cluster.SearchJointly(ctx, test.group, o)
			if !known || (nodes != nil) != (test.status == verdict.JointComplete) || steps > test.search {
				t.Errorf("the search knows: %v, found %v in %d steps", known, nodes, steps)
			}
			got, err := test.cluster.PlaceJointly(ctx, test.group, o)
			if err != nil {
				t.Fatal(err)
			}
			if got.Status != test.status || got.Steps > test.steps || len(got.Conflict) != test.conflict {
				t.Errorf("status %v in %d steps, conflict %v", got.Status, got.Steps, got.Conflict)
			}
			if got.Status == verdict.JointInfeasible {
				if got.Minimal == test.hard {
					t.Errorf("conflict %v, minimal: %v", got.Conflict, got.Minimal)
				}
				checkConflict(t, test.cluster, test.group, o, got)
			}
		})
	}
}

// checkConflict checks that the rules cannot be satisfied together, but can without any one of them.
func checkConflict(t *testing.T, c *engine.Cluster, group []engine.Pending, o engine.JointOptions, got *verdict.Joint) {
	t.Helper()
	for without := -1; without < len(got.Conflict) && (without < 0 || got.Minimal); without++ {
		rules := slices.Clone(got.Conflict)
		if without >= 0 {
			rules = slices.Delete(rules, without, without+1)
		}
		hold, err := c.HoldTogether(context.Background(), group, o, rules)
		if err != nil || hold != (without >= 0) {
			t.Errorf("conflict %v without %d: %v %v", got.Conflict, without, hold, err)
		}
	}
}

// randomGroup returns a small cluster and a group.
func randomGroup(t *testing.T, seed uint64) (*api.Cluster, []engine.Pending, *engine.Cluster) {
	t.Helper()
	stated, members, _ := enginetest.RandomGroup(rand.New(rand.NewPCG(seed, 4)))
	var group []engine.Pending
	for _, m := range members {
		group = append(group, engine.Pending{Pod: m.Pod, Count: m.Count})
	}
	return stated, group, compiled(t, stated)
}

func TestPlaceJointlyConflicts(t *testing.T) {
	for seed := range uint64(cases(500)) {
		_, group, c := randomGroup(t, seed)
		o := engine.JointOptions{Profile: api.Kube137()}
		got, err := c.PlaceJointly(context.Background(), group, o)
		if err != nil {
			t.Fatal(err)
		}
		if got.Status == verdict.JointInfeasible {
			if !got.Minimal {
				t.Errorf("seed %d: conflict %v is not said to be minimal", seed, got.Conflict)
			}
			checkConflict(t, c, group, o, got)
		}
	}
}

// TestPlaceJointlyCutShort ends the search by steps or by deadline at every point. What it returns must be valid.
func TestPlaceJointlyCutShort(t *testing.T) {
	seen := make(map[verdict.JointStatus]int)
	expired := 0
	n := cases(200)
	for seed := range uint64(n) {
		stated, group, c := randomGroup(t, seed)
		whole, err := c.PlaceJointly(context.Background(), group, engine.JointOptions{Profile: api.Kube137()})
		if err != nil {
			t.Fatal(err)
		}
		check := func(got *verdict.Joint) {
			t.Helper()
			seen[got.Status]++
			if got.Status != verdict.JointBestEffort && got.Status != whole.Status {
				t.Errorf("seed %d: status %v, with enough steps %v", seed, got.Status, whole.Status)
			}
			if got.Status == whole.Status && (got.LocallyOptimal && !whole.LocallyOptimal || got.Minimal && !whole.Minimal) {
				t.Errorf("seed %d: more is known than with enough steps", seed)
			}
			var pods []api.Pod
			for e, nodes := range got.Nodes {
				for range nodes {
					pods = append(pods, group[e].Pod)
				}
			}
			if _, right := totals(t, stated, pods, slices.Concat(got.Nodes...), nil); !right {
				t.Errorf("seed %d: %v is not right", seed, got.Nodes)
			}
		}
		for steps := 1; steps < min(whole.Steps, 80)+2; steps += 5 {
			got, err := c.PlaceJointly(context.Background(), group, engine.JointOptions{Profile: api.Kube137(), Steps: steps})
			if err != nil {
				t.Fatal(err)
			}
			check(got)
		}
		for calls := 0; calls < 800; calls += 1 + calls/8 {
			got, err := c.PlaceJointly(&deadline{context.Background(), calls}, group, engine.JointOptions{Profile: api.Kube137()})
			if errors.Is(err, context.DeadlineExceeded) && got == nil {
				expired++
				continue
			}
			if err != nil {
				t.Fatal(err)
			}
			check(got)
		}
		if got, err := c.PlaceJointly(&deadline{context.Background(), 1 << 30}, group, engine.JointOptions{Profile: api.Kube137()}); err != nil || !cmp.Equal(got, whole) {
			t.Errorf("seed %d: with time enough %v %v", seed, got, err)
		}
	}
	if min(seen[verdict.JointComplete], seen[verdict.JointBestEffort], seen[verdict.JointInfeasible], expired) < n {
		t.Errorf("%v, %d expired: not all kinds of ends are exercised", seen, expired)
	}
}

// deadline is a context that ends after a number of calls of Err.
type deadline struct {
	context.Context
	calls int
}

func (d *deadline) Err() error {
	if d.calls--; d.calls < 0 {
		return context.DeadlineExceeded
	}
	return nil
}

func TestPlaceJointlyCancelled(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	for seed := range uint64(20) {
		_, group, c := randomGroup(t, seed)
		if got, err := c.PlaceJointly(ctx, group, engine.JointOptions{Profile: api.Kube137()}); !errors.Is(err, context.Canceled) {
			t.Errorf("seed %d: %v %v", seed, got, err)
		}
	}
}

// TestPlaceJointlyTheSame places from many goroutines, with any parallelism, and expects equal results.
func TestPlaceJointlyTheSame(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(0))
	for seed := range uint64(30) {
		stated, group, _ := randomGroup(t, seed)
		ask := func(c *engine.Cluster) *verdict.Joint {
			got, err := c.PlaceJointly(context.Background(), group, engine.JointOptions{Profile: api.Kube137(), Seed: seed})
			if err != nil {
				t.Error(err)
			}
			return got
		}
		want := ask(compiled(t, stated))
		for _, procs := range []int{1, 2, 8} {
			runtime.GOMAXPROCS(procs)
			shared := compiled(t, stated)
			var wg sync.WaitGroup
			for range 4 {
				wg.Go(func() {
					if diff := cmp.Diff(want, ask(shared)); diff != "" {
						t.Errorf("seed %d, %d processors (-first +now):\n%s", seed, procs, diff)
					}
				})
			}
			wg.Wait()
		}
	}
}

func TestPlaceJointlySeed(t *testing.T) {
	c := compile(t, kindZones()...)
	// Neither pod can be placed first, so that the search has to choose.
	group := []engine.Pending{
		pending(1, app("a").Affinity(hostname, enginetest.Selects("app", "b"))),
		pending(1, app("b").Affinity(hostname, enginetest.Selects("app", "a"))),
	}
	chosen := make(map[uint32]bool)
	for seed := range uint64(20) {
		got, err := c.PlaceJointly(context.Background(), group, engine.JointOptions{Profile: api.Kube137(), Seed: seed})
		if err != nil {
			t.Fatal(err)
		}
		node := got.Nodes[0][0]
		if seed == 0 && node != 0 {
			t.Errorf("seed 0 chose node %d", node)
		}
		chosen[node] = true
	}
	if len(chosen) != 4 {
		t.Errorf("20 seeds chose only %v of four equal nodes", chosen)
	}
}
