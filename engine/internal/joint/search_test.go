package joint

import (
	"context"
	"math/rand/v2"
	"reflect"
	"slices"
	"strconv"
	"testing"

	"github.com/stowage-scheduler/stowage/engine/api"
	"github.com/stowage-scheduler/stowage/engine/enginetest"
	"github.com/stowage-scheduler/stowage/engine/internal/cluster"
	"github.com/stowage-scheduler/stowage/engine/internal/decide"
	"github.com/stowage-scheduler/stowage/engine/internal/nodeset"
	"github.com/stowage-scheduler/stowage/engine/internal/plugin"
	"github.com/stowage-scheduler/stowage/engine/internal/plugin/registry"
	"github.com/stowage-scheduler/stowage/engine/verdict"
)

func group(t *testing.T, rng *rand.Rand) *Group {
	t.Helper()
	input, members, _ := enginetest.RandomGroup(rng)
	return groupOf(t, input, members)
}

func groupOf(t *testing.T, input *api.Cluster, pods []enginetest.Member) *Group {
	t.Helper()
	nodes, of := members(t, input, pods)
	return NewGroup(nodes, of, nodeset.Full(nodes))
}

// members compiles pods in a cluster, and returns its number of nodes.
func members(
	t *testing.T, input *api.Cluster, pods []enginetest.Member, more ...*plugin.Plugin,
) (nodes int, of []Replicas) {
	t.Helper()
	ctx := context.Background()
	c, err := cluster.Compile(ctx, input)
	if err != nil {
		t.Fatal(err)
	}
	state := cluster.NewState(ctx, c)
	for i := range pods {
		d := decide.New(decide.NewFramework(api.Kube137(), slices.Concat(registry.Plugins, more)), state, state.Compile(&pods[i].Pod))
		of = append(of, Replicas{Entry: i, Count: pods[i].Count, Pod: d.Pod, Rules: d.Rules()})
	}
	return c.Len(), of
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

// TestSearchWithoutSomeRules drops rules at random.
func TestSearchWithoutSomeRules(t *testing.T) {
	found, none, steps := 0, 0, 0
	for seed := range uint64(3000) {
		rng := rand.New(rand.NewPCG(seed, 5))
		g := group(t, rng)
		dropped := make([]bool, len(g.Rules))
		for i := range dropped {
			dropped[i] = rng.IntN(4) == 0
		}
		budget := &Budget{Context: context.Background(), Limit: 1 << 20}
		assigned, known := g.Search(g.order(), dropped, budget)
		steps += budget.Steps
		switch {
		case !known:
			t.Errorf("seed %d: the budget did not suffice", seed)
		case assigned == nil:
			none++
			if g.without(dropped).possible() {
				t.Errorf("seed %d: there is a placement without the rules %v", seed, dropped)
			}
		default:
			found++
			counts := make([]int, len(g.replicas))
			for _, s := range assigned {
				counts[s.Replicas]++
			}
			for r, n := range counts {
				if n != g.replicas[r].count {
					t.Errorf("seed %d: %d instead of %d of replicas %d placed", seed, n, g.replicas[r].count, r)
				}
			}
			if !g.without(dropped).satisfied(assigned) {
				t.Errorf("seed %d: rules reject %v without the rules %v", seed, assigned, dropped)
			}
		}
	}
	if steps > 23_495 {
		t.Errorf("%d steps: the search looks ahead less far than it did", steps)
	}
	if found < 500 || none < 500 {
		t.Errorf("%d found, %d not: the cases no longer exercise both", found, none)
	}
}

// TestSearchWithLicenses has pods that count for a kind of rule that the search does not know.
func TestSearchWithLicenses(t *testing.T) {
	found, none := 0, 0
	for seed := range uint64(2000) {
		rng := rand.New(rand.NewPCG(seed, 36))
		input, pods, _ := enginetest.RandomGroup(rng)
		for i := range input.Nodes {
			for j := range input.Nodes[i].Pods {
				license(rng, input.Nodes[i].Pods[j].Template)
			}
		}
		for i := range pods {
			license(rng, pods[i].Pod.Template)
		}
		licenses := enginetest.Licenses{
			Name: verdict.PluginCount, Key: []string{"", "topology.kubernetes.io/zone", "rack"}[rng.IntN(3)], Most: int64(1 + rng.IntN(4)),
		}
		if rng.IntN(2) == 0 {
			licenses.App = "web"
		}
		nodes, of := members(t, input, pods, licenses.Plugin())
		g := NewGroup(nodes, of, nodeset.Full(nodes))
		switch assigned, known := g.Search(g.order(), nil, &Budget{Context: context.Background(), Limit: 1 << 20}); {
		case !known:
			t.Errorf("seed %d: the budget did not suffice", seed)
		case assigned != nil:
			if found++; !g.satisfied(assigned) {
				t.Errorf("seed %d: rules reject %v", seed, assigned)
			}
		default:
			if none++; g.possible() {
				t.Errorf("seed %d: there is a placement", seed)
			}
		}
	}
	if found < 300 || none < 300 {
		t.Errorf("%d found, %d not: the cases no longer exercise both", found, none)
	}
}

// TestSearchTellsDomainsApart has zones that differ in the licenses that are left alone.
func TestSearchTellsDomainsApart(t *testing.T) {
	const zone = "topology.kubernetes.io/zone"
	using := func(name string) *enginetest.Pod {
		return enginetest.MakePod(name).Label(enginetest.LicensesLabel, "1")
	}
	pair := using("pair").Label("app", "pair").Affinity(zone, enginetest.Selects("app", "pair"))
	licenses := enginetest.Licenses{Name: verdict.PluginCount, Key: zone, Most: 2}
	nodes, of := members(t, enginetest.Cluster(
		enginetest.MakeNode("a").Zone("a").Run(using("one")), enginetest.MakeNode("a2").Zone("a"),
		enginetest.MakeNode("b").Zone("b"), enginetest.MakeNode("b2").Zone("b"),
	), []enginetest.Member{{Pod: pair.Pod, Count: 2}}, licenses.Plugin())
	g := NewGroup(nodes, of, nodeset.Full(nodes))
	assigned, _ := g.Search(g.order(), nil, &Budget{Context: context.Background(), Limit: 1000})
	if len(assigned) != 2 || assigned[0].Node < 2 || assigned[1].Node < 2 {
		t.Errorf("assigned %v, want both pods in zone b", assigned)
	}
}

func license(rng *rand.Rand, t *api.PodTemplate) {
	if n := rng.IntN(3); n > 0 {
		t.Labels = t.Labels.With(api.Labels{{Key: enginetest.LicensesLabel, Value: strconv.Itoa(n)}})
	}
}

// TestSearchUncountedNode has a pod on a node that does not count for the pod's own constraint, as its node selector is
// dropped, and another pod come to the domain afterwards.
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
		dropped := make([]bool, len(g.Rules))
		for i, r := range g.Rules {
			dropped[i] = r.Entry == 0 && r.Plugin == verdict.NodeAffinity
		}
		assigned, known := g.Search(g.order(), dropped, &Budget{Context: context.Background(), Limit: 1000})
		if want := g.without(dropped).possible(); !known || (assigned != nil) != want {
			t.Errorf("%s: found %v, but it is possible: %v", key, assigned, want)
		}
	}
}

// TestSearchBudget gives the search fewer steps than it takes.
func TestSearchBudget(t *testing.T) {
	cut := 0
	for seed := range uint64(200) {
		g := group(t, rand.New(rand.NewPCG(seed, 6)))
		whole := &Budget{Context: context.Background(), Limit: 1 << 20}
		want, _ := g.Search(g.order(), nil, whole)
		for limit := range whole.Steps + 2 {
			budget := &Budget{Context: context.Background(), Limit: limit}
			assigned, known := g.Search(g.order(), nil, budget)
			switch {
			case budget.Steps > limit:
				t.Errorf("seed %d: %d steps of %d", seed, budget.Steps, limit)
			case assigned != nil && slices.Contains(g.Rejected(assigned), true):
				t.Errorf("seed %d: with %d steps, rules reject %v", seed, limit, assigned)
			case known && (assigned == nil) != (want == nil):
				t.Errorf("seed %d: with %d steps %v, with enough %v", seed, limit, assigned, want)
			case !known:
				cut++
			}
		}
	}
	if cut < 1000 {
		t.Errorf("only %d searches ended early", cut)
	}
}

// TestSearchHonoursEveryKind fails for a kind of rule that rule.Set has, and that the search ignores.
func TestSearchHonoursEveryKind(t *testing.T) {
	full, pod := enginetest.RejectedByEveryKind()
	nodes, of := members(t, full, []enginetest.Member{{Pod: pod.Pod, Count: 1}}, enginetest.OneLicense)
	for kind, rules := range enginetest.Kinds(of[0].Rules) {
		if reflect.ValueOf(*rules).IsZero() {
			t.Errorf("%s: no such rule rejects the node of RejectedByEveryKind", kind)
			continue
		}
		g := NewGroup(nodes, []Replicas{{Pod: of[0].Pod, Rules: rules, Count: 1}}, nodeset.Full(nodes))
		search := func(dropped []bool) []Assignment {
			assigned, known := g.Search(g.order(), dropped, &Budget{Context: context.Background(), Limit: 10})
			if !known {
				t.Errorf("%s: the budget did not suffice", kind)
			}
			return assigned
		}
		if search(nil) != nil {
			t.Errorf("%s: the search ignores the kind", kind)
		}
		if search(slices.Repeat([]bool{true}, len(g.Rules))) == nil {
			t.Errorf("%s: the search honours a rule that is dropped", kind)
		}
		if !g.Rejected([]Assignment{{0, 0}})[0] {
			t.Errorf("%s: the check of a placement ignores the kind", kind)
		}
	}
}
