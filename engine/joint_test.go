package engine_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/stowage-scheduler/stowage/engine"
	"github.com/stowage-scheduler/stowage/engine/api"
	"github.com/stowage-scheduler/stowage/engine/enginetest"
	"github.com/stowage-scheduler/stowage/engine/verdict"
)

// flat returns the pods of a group one by one.
func flat(group []engine.Pending) (pods []api.Pod, entries []int) {
	for e, p := range group {
		for range p.Count {
			pods, entries = append(pods, p.Pod), append(entries, e)
		}
	}
	return pods, entries
}

// others compiles the cluster with all pods of a group but one on their nodes.
func others(t *testing.T, stated *api.Cluster, pods []api.Pod, nodes []uint32, but int) *engine.Cluster {
	t.Helper()
	with := *stated
	with.Nodes = slices.Clone(stated.Nodes)
	for i, n := range nodes {
		if i != but {
			with.Nodes[n].Pods = append(slices.Clip(with.Nodes[n].Pods), pods[i])
			forgetNominated(&with, &pods[i])
		}
	}
	c, err := engine.Compile(context.Background(), &with)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func score(t *testing.T, c *engine.Cluster, pod *api.Pod, candidates []uint32) *verdict.Score {
	t.Helper()
	s, err := c.Score(context.Background(), pod, engine.ScoreOptions{Profile: api.Kube137(), Candidates: candidates, TotalsOnly: true})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// totals returns the pods' total scores in a placement, and whether it is valid.
func totals(t *testing.T, stated *api.Cluster, pods []api.Pod, nodes []uint32, candidates []uint32) ([]int64, bool) {
	t.Helper()
	out := make([]int64, len(pods))
	for i := range pods {
		s := score(t, others(t, stated, pods, nodes, i), &pods[i], candidates)
		at, ok := slices.BinarySearch(s.Nodes, nodes[i])
		if !ok {
			return nil, false
		}
		out[i] = s.Totals[at]
	}
	return out, true
}

// bruteForce returns a valid placement, nil for none. It tries one order of identical pods, and skips nodes that a pod
// is rejected on wherever the others are.
func bruteForce(t *testing.T, stated *api.Cluster, queue []engine.Pending, candidates []uint32) []uint32 {
	t.Helper()
	pods, entries := flat(queue)
	possible := make([][]uint32, len(queue))
	empty := others(t, stated, nil, nil, 0)
	for e := range queue {
		f, err := empty.Filter(context.Background(), &queue[e].Pod,
			engine.FilterOptions{Profile: api.Kube137(), Candidates: candidates, Explain: true})
		if err != nil {
			t.Fatal(err)
		}
		possible[e] = slices.Clone(candidates)
		for _, r := range f.Explanation.Failing {
			if r.Plugin <= verdict.NodeResourcesFit {
				possible[e] = slices.DeleteFunc(possible[e], func(n uint32) bool { return slices.Contains(r.Nodes, n) })
			}
		}
	}
	nodes := make([]uint32, len(pods))
	var place func(i int) bool
	place = func(i int) bool {
		if i == len(pods) {
			for p := range pods {
				f, err := others(t, stated, pods, nodes, p).Filter(context.Background(), &pods[p],
					engine.FilterOptions{Profile: api.Kube137(), Candidates: candidates})
				if err != nil {
					t.Fatal(err)
				}
				if !slices.Contains(f.Feasible, nodes[p]) {
					return false
				}
			}
			return true
		}
		for _, n := range possible[entries[i]] {
			if i > 0 && entries[i-1] == entries[i] && n < nodes[i-1] {
				continue
			}
			if nodes[i] = n; place(i + 1) {
				return true
			}
		}
		return false
	}
	if !place(0) {
		return nil
	}
	return nodes
}

func sum(of []int64) (total int64) {
	for _, v := range of {
		total += v
	}
	return total
}

// TestPlaceJointlyAgainstAllPlacements compares the results for small clusters with all placements.
func TestPlaceJointlyAgainstAllPlacements(t *testing.T) {
	n := cases(3000)
	outcomes := make(map[verdict.JointStatus]int)
	for seed := range uint64(n) {
		stated, group, candidates := enginetest.RandomGroup(rand.New(rand.NewPCG(seed, 4)))
		var queue []engine.Pending
		for _, m := range group {
			queue = append(queue, engine.Pending{Pod: m.Pod, Count: m.Count})
		}
		checkJoint(t, fmt.Sprint("seed ", seed), stated, queue, candidates, outcomes)
		if t.Failed() {
			return
		}
	}
	t.Log(outcomes)
	for _, status := range []verdict.JointStatus{verdict.JointComplete, verdict.JointInfeasible, searched} {
		if outcomes[status] < n/100 {
			t.Errorf("outcomes %v: the cases no longer exercise all", outcomes)
		}
	}
}

// searched counts groups that can be placed, but not one by one.
const searched = verdict.JointInfeasible + 1

func checkJoint(t *testing.T, name string, stated *api.Cluster, queue []engine.Pending, candidates []uint32, outcomes map[verdict.JointStatus]int) {
	t.Helper()
	c, err := engine.Compile(context.Background(), stated)
	if err != nil {
		t.Fatal(err)
	}
	o := engine.JointOptions{Profile: api.Kube137(), Candidates: candidates}
	found, known, _ := c.SearchJointly(context.Background(), queue, o)
	got, err := c.PlaceJointly(context.Background(), queue, o)
	if err != nil {
		t.Fatal(err)
	}
	outcomes[got.Status]++
	if candidates == nil {
		for i := range stated.Nodes {
			candidates = append(candidates, uint32(i))
		}
	}
	pods, _ := flat(queue)
	nodes := slices.Concat(got.Nodes...)
	if !known || (found != nil) != (got.Status == verdict.JointComplete) {
		t.Errorf("%s: status %v, but the search found %v", name, got.Status, found)
	}
	switch got.Status {
	case verdict.JointComplete:
		if _, right := totals(t, stated, pods, found, candidates); !right {
			t.Errorf("%s: found %v, which is not right", name, found)
		}
		if inOrder, err := c.InOrderJointly(context.Background(), queue, o); !inOrder {
			outcomes[searched]++
		} else if err != nil {
			t.Error(err)
		}
		scores, right := totals(t, stated, pods, nodes, candidates)
		if !right {
			t.Errorf("%s: %v is not right", name, got.Nodes)
			return
		}
		if diff := cmp.Diff(scores, slices.Concat(got.Scores...)); diff != "" || got.Sum != sum(scores) {
			t.Errorf("%s: sum %d, scores (-want +got):\n%s", name, got.Sum, diff)
		}
		if !got.LocallyOptimal {
			t.Errorf("%s: not settled", name)
		}
		checkLocallyOptimal(t, name, stated, pods, nodes, candidates, got.Sum)
	case verdict.JointInfeasible:
		if at := bruteForce(t, stated, queue, candidates); at != nil {
			t.Errorf("%s: said to be infeasible, but %v is right", name, at)
		}
	}
}

// checkLocallyOptimal checks that no single-pod move to its best node raises the sum.
func checkLocallyOptimal(t *testing.T, name string, stated *api.Cluster, pods []api.Pod, nodes []uint32, candidates []uint32, have int64) {
	t.Helper()
	for i := range pods {
		s := score(t, others(t, stated, pods, nodes, i), &pods[i], candidates)
		at, _ := slices.BinarySearch(s.Nodes, nodes[i])
		var best []int64
		own := s.Totals[at]
		for k, n := range s.Nodes {
			if s.Totals[k] <= own {
				continue
			}
			moved := slices.Clone(nodes)
			moved[i] = n
			if scores, right := totals(t, stated, pods, moved, candidates); right {
				best, own = scores, s.Totals[k]
			}
		}
		if best != nil && sum(best) > have {
			t.Errorf("%s: moving pod %d makes the sum %d instead of %d", name, i, sum(best), have)
		}
	}
}

func kindZones() []*enginetest.Node {
	return []*enginetest.Node{
		enginetest.MakeNode("a1").Label("kind.zone", "a"), enginetest.MakeNode("a2").Label("kind.zone", "a"),
		enginetest.MakeNode("b1").Label("kind.zone", "b"), enginetest.MakeNode("b2").Label("kind.zone", "b"),
	}
}

func app(name string) *enginetest.Pod { return enginetest.MakePod(name).Label("app", name) }

func pending(count int, p *enginetest.Pod) engine.Pending {
	return engine.Pending{Pod: p.Pod, Count: count}
}

// hashed returns a pod of a revision of a Deployment with anti-affinity by hostname to its other pods: to all, or with
// keys to its revision's.
func hashed(revision string, keys ...string) *enginetest.Pod {
	p := app("web").Label("pod-template-hash", revision).AntiAffinity(hostname, enginetest.Selects("app", "web"))
	p.Template.Spec.PodAntiAffinity.Required[0].MatchLabelKeys = keys
	return p
}

func TestPlaceJointly(t *testing.T) { //nolint:funlen // a table of cases
	selects := func(name string) *api.LabelSelector { return enginetest.Selects("app", name) }
	spread := func() *enginetest.Pod {
		return app("web").Spread(zone, 1, selects("web")).Spread(hostname, 1, selects("web"))
	}
	for _, test := range []struct {
		name  string
		nodes []*enginetest.Node
		group []engine.Pending
		// unplaced is the number of pods without a node when placed one by one.
		unplaced int
		want     [][]uint32
		conflict []verdict.PodRule
	}{
		{
			name:  "11: affinity to a pod that comes later",
			nodes: kindZones(),
			group: []engine.Pending{
				pending(5, app("pod-affinity-5").Affinity("kind.zone", selects("pod-affinity-6"))),
				pending(1, app("pod-affinity-6")),
			},
			unplaced: 5,
			want:     [][]uint32{{1, 0, 0, 1, 1}, {0}},
		},
		{
			name:  "13: affinity to each other",
			nodes: kindZones(),
			group: []engine.Pending{
				pending(1, app("a").Affinity("kind.zone", selects("b"))),
				pending(1, app("b").Affinity("kind.zone", selects("a"))),
			},
			unplaced: 2,
			want:     [][]uint32{{1}, {0}},
		},
		{
			name: "18: two pods fit only together",
			nodes: []*enginetest.Node{
				enginetest.MakeNode("a1").Zone("a").Run(spread(), spread()),
				enginetest.MakeNode("a2").Zone("a").Run(spread()),
				enginetest.MakeNode("a3").Zone("a"),
				enginetest.MakeNode("b1").Zone("b").Run(spread()),
				enginetest.MakeNode("b2").Zone("b").Run(spread()),
			},
			group:    []engine.Pending{pending(2, spread())},
			unplaced: 2,
			want:     [][]uint32{{2, 3}},
		},
		{
			name:  "8: more pods that are to be apart than domains",
			nodes: kindZones(),
			group: []engine.Pending{
				pending(3, app("redash").AntiAffinity("kind.zone", selects("redash"))),
				pending(1, app("other").Request("cpu", 100)),
			},
			unplaced: 1,
			conflict: []verdict.PodRule{
				{Plugin: verdict.InterPodAffinity, Rule: verdict.PodAntiAffinity, TopologyKey: "kind.zone"},
			},
		},
		{
			name:  "terms that contradict each other",
			nodes: kindZones(),
			group: []engine.Pending{
				pending(2, app("a").Affinity(hostname, selects("a")).Affinity("kind.zone", selects("a"))),
				pending(1, app("b").Affinity("kind.zone", selects("c"))),
				pending(1, app("c").AntiAffinity(hostname, selects("a")).AntiAffinity("kind.zone", selects("b"))),
			},
			unplaced: 1,
			conflict: []verdict.PodRule{
				{Entry: 1, Plugin: verdict.InterPodAffinity, Rule: verdict.PodAffinity, TopologyKey: "kind.zone"},
				{Entry: 2, Plugin: verdict.InterPodAffinity, Rule: verdict.PodAntiAffinity, Index: 1, TopologyKey: "kind.zone"},
			},
		},
		{
			name:     "too little room",
			nodes:    kindZones()[:2],
			group:    []engine.Pending{pending(1, app("a").Request("cpu", 100)), pending(3, app("b").Request("cpu", 4500))},
			unplaced: 1,
			conflict: []verdict.PodRule{{Entry: 1, Plugin: verdict.NodeResourcesFit, Resource: "cpu"}},
		},
		{
			name:  "room for any two of three",
			nodes: []*enginetest.Node{enginetest.MakeNode("a").Allocate("cpu", 1000, "pods", 9)},
			group: []engine.Pending{
				pending(1, app("a").Request("cpu", 400)), pending(1, app("b").Request("cpu", 400)), pending(1, app("c").Request("cpu", 400)),
			},
			unplaced: 1,
			conflict: []verdict.PodRule{{Entry: 2, Plugin: verdict.NodeResourcesFit, Resource: "cpu"}},
		},
		{
			name:     "host ports",
			nodes:    kindZones()[:2],
			group:    []engine.Pending{pending(3, app("a").HostPort(80))},
			unplaced: 1,
			conflict: []verdict.PodRule{{Plugin: verdict.NodePorts}},
		},
		{
			name: "a pod on a node is in the way of one domain, a selector of the other",
			nodes: append(kindZones()[:3], enginetest.MakeNode("b2").Label("kind.zone", "b").
				Run(app("old").AntiAffinity("kind.zone", selects("a")))),
			group: []engine.Pending{pending(1, func() *enginetest.Pod {
				p := app("a")
				p.Template.Spec.NodeSelector = api.Labels{{Key: "kind.zone", Value: "b"}}
				return p
			}())},
			unplaced: 1,
			conflict: []verdict.PodRule{
				{Plugin: verdict.NodeAffinity},
				{Plugin: verdict.InterPodAffinity, Rule: verdict.ExistingPodAntiAffinity, TopologyKey: "kind.zone"},
			},
		},
		{
			name:     "14: a surge pod on nodes that are all taken",
			nodes:    []*enginetest.Node{enginetest.MakeNode("a").Run(hashed("1")), enginetest.MakeNode("b").Run(hashed("1"))},
			group:    []engine.Pending{pending(1, hashed("2"))},
			unplaced: 1,
			conflict: []verdict.PodRule{
				{Plugin: verdict.InterPodAffinity, Rule: verdict.ExistingPodAntiAffinity, TopologyKey: "kubernetes.io/hostname"},
			},
		},
		{
			name:  "14: the same with matchLabelKeys",
			nodes: []*enginetest.Node{enginetest.MakeNode("a").Run(hashed("1", "pod-template-hash")), enginetest.MakeNode("b")},
			group: []engine.Pending{pending(2, hashed("2", "pod-template-hash"))},
			want:  [][]uint32{{1, 0}},
		},
		{
			name:  "19: affinity where no node has the topology key",
			nodes: []*enginetest.Node{enginetest.MakeNode("a")},
			group: []engine.Pending{
				pending(1, app("a").Affinity(zone, selects("b"))), pending(1, app("b").AntiAffinity(zone, selects("a"))),
			},
			unplaced: 1,
			conflict: []verdict.PodRule{{Plugin: verdict.InterPodAffinity, Rule: verdict.PodAffinity, TopologyKey: zone}},
		},
		{
			name:  "19: nodes without the topology key",
			nodes: []*enginetest.Node{enginetest.MakeNode("a"), enginetest.MakeNode("b")},
			group: []engine.Pending{
				pending(3, app("a").AntiAffinity(zone, selects("a"))), pending(1, app("b").Spread(zone, 1, selects("b"))),
			},
			unplaced: 1,
			conflict: []verdict.PodRule{
				{Entry: 1, Plugin: verdict.PodTopologySpread, Rule: verdict.HardSpread, TopologyKey: zone},
			},
		},
		{
			name:     "no nodes",
			group:    []engine.Pending{pending(1, app("a"))},
			unplaced: 1,
		},
		{
			name:  "no pods",
			nodes: kindZones(),
			group: []engine.Pending{},
			want:  [][]uint32{},
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			stated := enginetest.Cluster(test.nodes...)
			c := compile(t, test.nodes...)
			oneByOne, err := c.Place(context.Background(), test.group, engine.PlaceOptions{Profile: api.Kube137()})
			if err != nil {
				t.Fatal(err)
			}
			unplaced := 0
			for _, p := range oneByOne.Placements {
				unplaced += p.Unplaced
			}
			if unplaced != test.unplaced {
				t.Errorf("%d unplaced one by one, want %d", unplaced, test.unplaced)
			}
			got, err := c.PlaceJointly(context.Background(), test.group, engine.JointOptions{Profile: api.Kube137()})
			if err != nil {
				t.Fatal(err)
			}
			if test.want == nil {
				if got.Status != verdict.JointInfeasible || !got.Minimal || len(slices.Concat(got.Nodes...)) > 0 {
					t.Errorf("status %v, nodes %v, minimal %v", got.Status, got.Nodes, got.Minimal)
				}
			} else if got.Status != verdict.JointComplete || len(got.Conflict) > 0 {
				t.Errorf("status %v, conflict %v", got.Status, got.Conflict)
			} else if diff := cmp.Diff(test.want, got.Nodes); diff != "" {
				t.Errorf("nodes (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(test.conflict, got.Conflict); diff != "" {
				t.Errorf("conflict (-want +got):\n%s", diff)
			}
			if len(test.group) > 0 {
				checkJoint(t, test.name, stated, test.group, nil, make(map[verdict.JointStatus]int))
			}
		})
	}
}
