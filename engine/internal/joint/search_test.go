package joint

import (
	"context"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stowage-scheduler/stowage/engine/api"
	"github.com/stowage-scheduler/stowage/engine/enginetest"
	"github.com/stowage-scheduler/stowage/engine/internal/cluster"
	"github.com/stowage-scheduler/stowage/engine/internal/decide"
	"github.com/stowage-scheduler/stowage/engine/internal/nodeset"
	"github.com/stowage-scheduler/stowage/engine/internal/plugin/registry"
	"github.com/stowage-scheduler/stowage/engine/verdict"
)

func group(t *testing.T, rng *rand.Rand) *Group {
	t.Helper()
	stated, members, _ := enginetest.RandomGroup(rng)
	return groupOf(t, stated, members)
}

func groupOf(t *testing.T, stated *api.Cluster, members []enginetest.Member) *Group {
	t.Helper()
	ctx := context.Background()
	c, err := cluster.Compile(ctx, stated)
	if err != nil {
		t.Fatal(err)
	}
	state := cluster.NewState(ctx, c)
	var of []Replicas
	for i := range members {
		d := decide.New(decide.NewFramework(api.Kube137(), registry.Plugins), state, state.Compile(&members[i].Pod))
		of = append(of, Replicas{Entry: i, Count: members[i].Count, Pod: d.Pod, Rules: d.Rules()})
	}
	return NewGroup(c.Len(), of, nodeset.Full(c.Len()))
}

func (g *Group) order() []uint32 {
	order := make([]uint32, g.nodes)
	for i := range order {
		order[i] = uint32(i)
	}
	return order
}

func (g *Group) satisfied(assigned []Assignment) bool {
	return !slices.Contains(g.Rejected(assigned), true)
}

// possible reports whether any placement satisfies the rules, by trying all.
func (g *Group) possible() bool {
	var assigned []Assignment
	var place func(replicas, pods int) bool
	place = func(replicas, pods int) bool {
		switch {
		case replicas == len(g.replicas):
			return g.satisfied(assigned)
		case pods == g.replicas[replicas].count:
			return place(replicas+1, 0)
		}
		first := uint32(0)
		if pods > 0 {
			first = assigned[len(assigned)-1].Node
		}
		for n := first; n < uint32(g.nodes); n++ {
			assigned = append(assigned, Assignment{replicas, n})
			if place(replicas, pods+1) {
				return true
			}
			assigned = assigned[:len(assigned)-1]
		}
		return false
	}
	return place(0, 0)
}

// TestSearchWithoutSomeRules gives up rules at random.
func TestSearchWithoutSomeRules(t *testing.T) {
	found, none, steps := 0, 0, 0
	for seed := range uint64(3000) {
		rng := rand.New(rand.NewPCG(seed, 5))
		g := group(t, rng)
		given := make([]bool, len(g.Rules))
		for i := range given {
			given[i] = rng.IntN(4) == 0
		}
		effort := &Budget{Context: context.Background(), Limit: 1 << 20}
		spots, known := g.Search(g.order(), given, effort)
		steps += effort.Steps
		switch {
		case !known:
			t.Errorf("seed %d: too much effort", seed)
		case spots == nil:
			none++
			if g.without(given).possible() {
				t.Errorf("seed %d: there is a placement without the rules %v", seed, given)
			}
		default:
			found++
			counts := make([]int, len(g.replicas))
			for _, s := range spots {
				counts[s.Replicas]++
			}
			for r, n := range counts {
				if n != g.replicas[r].count {
					t.Errorf("seed %d: %d instead of %d of replicas %d placed", seed, n, g.replicas[r].count, r)
				}
			}
			if !g.without(given).satisfied(spots) {
				t.Errorf("seed %d: %v is wrong without the rules %v", seed, spots, given)
			}
		}
	}
	if steps > 23_515 {
		t.Errorf("%d steps: the search looks ahead less far than it did", steps)
	}
	if found < 500 || none < 500 {
		t.Errorf("%d found, %d not: the cases no longer exercise both", found, none)
	}
}

// TestSearchUncountedNode has a pod on a node that does not count for the pod's own constraint, as its node selector is
// given up, and another pod come to the domain afterwards.
func TestSearchUncountedNode(t *testing.T) {
	for _, key := range []string{"topology.kubernetes.io/zone", "kubernetes.io/hostname"} {
		web := func(cpu int) enginetest.Member {
			p := enginetest.MakePod("web").Label("app", "web").Request("cpu", cpu)
			p.Template.Spec.NodeSelector = api.Labels{{Key: "disk", Value: "ssd"}}
			return enginetest.Member{Pod: p.Pod, Count: 1}
		}
		first, second := web(4000), web(100)
		spec := &first.Pod.Template.Spec
		spec.Spread = []api.TopologySpreadConstraint{{
			TopologyKey: key, MaxSkew: 1, MinDomains: 3, LabelSelector: enginetest.Selects("app", "web"),
		}}
		g := groupOf(t, enginetest.Cluster(
			enginetest.MakeNode("small").Zone("a").Label("disk", "ssd").Allocate("cpu", 1000, "pods", 9),
			enginetest.MakeNode("large").Zone("a")), []enginetest.Member{first, second})
		given := make([]bool, len(g.Rules))
		for i, r := range g.Rules {
			given[i] = r.Entry == 0 && r.Plugin == verdict.NodeAffinity
		}
		spots, known := g.Search(g.order(), given, &Budget{Context: context.Background(), Limit: 1000})
		if want := g.without(given).possible(); !known || (spots != nil) != want {
			t.Errorf("%s: found %v, but it is possible: %v", key, spots, want)
		}
	}
}

// TestSearchEffort gives the search less effort than it takes.
func TestSearchEffort(t *testing.T) {
	cut := 0
	for seed := range uint64(200) {
		g := group(t, rand.New(rand.NewPCG(seed, 6)))
		whole := &Budget{Context: context.Background(), Limit: 1 << 20}
		want, _ := g.Search(g.order(), nil, whole)
		for limit := range whole.Steps + 2 {
			effort := &Budget{Context: context.Background(), Limit: limit}
			spots, known := g.Search(g.order(), nil, effort)
			switch {
			case effort.Steps > limit:
				t.Errorf("seed %d: %d steps of %d", seed, effort.Steps, limit)
			case spots != nil && slices.Contains(g.Rejected(spots), true):
				t.Errorf("seed %d: with %d steps, %v is wrong", seed, limit, spots)
			case known && (spots == nil) != (want == nil):
				t.Errorf("seed %d: with %d steps %v, with enough %v", seed, limit, spots, want)
			case !known:
				cut++
			}
		}
	}
	if cut < 1000 {
		t.Errorf("only %d searches ended early", cut)
	}
}
