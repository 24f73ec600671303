package engine_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/stowage-scheduler/stowage/engine"
	"github.com/stowage-scheduler/stowage/engine/api"
	"github.com/stowage-scheduler/stowage/engine/enginetest"
	"github.com/stowage-scheduler/stowage/engine/verdict"
)

// comparableWith reports whether a cluster that is compiled without victims decides as a dry run does: no two pods of a node hold
// one of the pod's host ports, and PreFilter does not skip InterPodAffinity only once the victims are gone.
func comparableWith(c *api.Cluster, pod *api.Pod) bool {
	spec := &pod.Template.Spec
	terms := spec.PodAffinity != nil && len(spec.PodAffinity.Required) > 0 ||
		spec.PodAntiAffinity != nil && len(spec.PodAntiAffinity.Required) > 0
	for i := range c.Nodes {
		ports := make(map[int32]int)
		for _, v := range podsOf(c, i) {
			for _, h := range v.pod.Template.Spec.Containers[0].HostPorts {
				ports[h.Port]++
			}
		}
		for _, h := range spec.Containers[0].HostPorts {
			if ports[h.Port] > 1 {
				return false
			}
		}
		for _, n := range c.Nodes[i].Nominated {
			if anti := n.Template.Spec.PodAntiAffinity; !terms && anti != nil && len(anti.Required) > 0 {
				return false
			}
		}
	}
	return true
}

// spreadsAlike reports whether PodTopologySpread's RemovePod counts as its PreFilter does.
func spreadsAlike(c *api.Cluster, pod *api.Pod) bool {
	for i := range c.Nodes {
		for _, v := range podsOf(c, i) {
			if v.pod.Terminating {
				return false
			}
		}
	}
	return !slices.ContainsFunc(pod.Template.Spec.Spread, func(s api.TopologySpreadConstraint) bool {
		return s.LabelSelector != nil && len(s.LabelSelector.MatchLabels) == 0
	})
}

// TestPreemptionEqualsOracle compares preemption with its description, on clusters that are compiled without the victims.
func TestPreemptionEqualsOracle(t *testing.T) {
	found, cleared, violations, ties, kube, several := 0, 0, 0, 0, 0, 0
	for seed := range uint64(cases(2000)) {
		rng := rand.New(rand.NewPCG(seed, 77))
		stated, pods := enginetest.Random(rng)
		enginetest.RandomVictims(rng, stated, pods)
		for i := range pods {
			pod := &pods[i]
			if !comparableWith(stated, pod) {
				continue
			}
			o := oracle{t, stated, pod}
			want := o.preempt()
			options := []engine.PreemptOptions{{All: true, RecountSpread: true}}
			if spreadsAlike(stated, pod) {
				kube++
				options = append(options, engine.PreemptOptions{All: true})
			}
			for _, option := range options {
				f := filterOf(t, stated, pod, engine.FilterOptions{Preempt: &option})
				if rejectedAsAWhole := f.Preemption != nil && f.Preemption.Message == "not found"; rejectedAsAWhole {
					continue
				}
				if diff := gocmp.Diff(want, asPreempted(stated, f.Preemption), cmpopts.EquateEmpty()); diff != "" {
					t.Fatalf("seed %d, pod %d, %+v (-oracle +now):\n%s", seed, i, option, diff)
				}
				if f.Preemption == nil {
					continue
				}
				option.All = false
				short := filterOf(t, stated, pod, engine.FilterOptions{Preempt: &option})
				all := *f.Preemption
				if all.Candidates = nil; gocmp.Diff(&all, short.Preemption, cmpopts.EquateEmpty()) != "" || f.Message != short.Message {
					t.Fatalf("seed %d, pod %d: %+v without all candidates, %+v with them", seed, i, short.Preemption, all)
				}
				if best := f.Preemption.Nominated; best != nil {
					found++
					violations += best.Violations
					if len(best.Victims) > 1 {
						several++
					}
					if len(f.Preemption.Best) > 1 {
						ties++
					}
					at := slices.IndexFunc(f.Preemption.Candidates, func(c verdict.Candidate) bool { return c.Node == best.Node })
					if at < 0 || gocmp.Diff(*best, f.Preemption.Candidates[at]) != "" || best.Node != f.Preemption.Best[0] {
						t.Fatalf("seed %d, pod %d: %+v nominated of %+v", seed, i, best, f.Preemption)
					}
				} else if f.Preemption.ClearsNomination {
					cleared++
				}
			}
		}
	}
	t.Logf("%d found, %d cleared, %d violations, %d ties, %d as kube-scheduler, %d with several victims",
		found, cleared, violations, ties, kube, several)
	if min(found, cleared, kube, several) == 0 || allCases() && min(violations, ties) == 0 {
		t.Error("some outcome never occurs")
	}
}

// TestPreemptionOfManyPriorities compares preemption with its description, and without all candidates with it, on nodes with
// more priorities than any bound on a look at the victims before they are sorted would allow.
func TestPreemptionOfManyPriorities(t *testing.T) {
	several, late := 0, 0
	for seed := range uint64(cases(300)) {
		rng := rand.New(rand.NewPCG(seed, 80))
		var nodes []*enginetest.Node
		for i := range 2 + rng.IntN(3) {
			room := 0
			var victims []*enginetest.Pod
			for j, priority := range rng.Perm(20)[:1+rng.IntN(18)] {
				cpu := 1 + rng.IntN(3)
				room += cpu
				victims = append(victims, holding(fmt.Sprint(i, "-", j), cpu, int32(priority)))
			}
			nodes = append(nodes, enginetest.MakeNode(fmt.Sprint(i)).Allocate("cpu", room+rng.IntN(3), "pods", 20).Run(victims...))
		}
		stated, pod := enginetest.Cluster(nodes...), &preemptor().Request("cpu", 3).Priority(100).Pod
		want := (&oracle{t, stated, pod}).preempt()
		all := filterOf(t, stated, pod, engine.FilterOptions{Preempt: &engine.PreemptOptions{All: true}}).Preemption
		if diff := gocmp.Diff(want, asPreempted(stated, all), cmpopts.EquateEmpty()); diff != "" {
			t.Fatalf("seed %d (-oracle +now):\n%s", seed, diff)
		}
		short := filterOf(t, stated, pod, engine.FilterOptions{Preempt: &engine.PreemptOptions{}}).Preemption
		if all == nil {
			continue
		}
		if len(all.Candidates) > 1 {
			several++
		}
		if all.Nominated != nil && all.Nominated.Node > 0 && len(stated.Nodes[all.Nominated.Node].Pods) > 10 {
			late++
		}
		if all.Candidates = nil; gocmp.Diff(all, short, cmpopts.EquateEmpty()) != "" {
			t.Fatalf("seed %d: %+v without all candidates, %+v with them", seed, short, all)
		}
	}
	if min(several, late) == 0 {
		t.Error("some outcome never occurs")
	}
}

// TestPlacePreemptsAsFilter compares the preemption of a queue's unplaced pods with Filter's in a cluster that is
// compiled with the pods that were placed before them.
func TestPlacePreemptsAsFilter(t *testing.T) {
	compared, assumed := 0, 0
	for seed := range uint64(cases(1000)) {
		rng := rand.New(rand.NewPCG(seed, 78))
		stated, pods := enginetest.Random(rng)
		enginetest.RandomVictims(rng, stated, pods)
		var queue []engine.Pending
		for i := range pods {
			filler := enginetest.MakePod("filler-"+pods[i].Name).Label("app", "web").Request("cpu", 300).Priority(-1)
			queue = append(queue, engine.Pending{Pod: filler.Pod, Count: 1}, engine.Pending{Pod: pods[i], Count: 1})
		}
		o := engine.PlaceOptions{Profile: api.Kube137(), Preempt: true, Scan: rng.IntN(2) == 0}
		result, err := compiled(t, stated).Place(t.Context(), queue, o)
		if err != nil {
			t.Fatal(err)
		}
		now := *stated
		now.Nodes = slices.Clone(stated.Nodes)
		for i, p := range result.Placements {
			pod := queue[i].Pod
			if p.Unplaced == 0 {
				for _, n := range p.Nodes {
					placed := pod
					placed.NominatedNode = ""
					now.Nodes[n].Pods = append(slices.Clip(now.Nodes[n].Pods), placed)
				}
				forgetNominated(&now, &pod)
				continue
			}
			f := filterOf(t, &now, &pod, engine.FilterOptions{Preempt: &engine.PreemptOptions{}})
			endNomination(t, &now, o.Profile, &pod)
			if p.Message != f.Message {
				t.Fatalf("seed %d, entry %d: message %q, Filter %q", seed, i, p.Message, f.Message)
			}
			if compared++; (p.Preemption == nil) != (f.Preemption == nil) {
				t.Fatalf("seed %d, entry %d: %+v, Filter %+v", seed, i, p.Preemption, f.Preemption)
			}
			if p.Preemption == nil {
				continue
			}
			for _, found := range []*verdict.Preemption{p.Preemption, f.Preemption} {
				if found.Nominated == nil {
					continue
				}
				for j := range found.Nominated.Victims {
					if v := &found.Nominated.Victims[j]; v.Name != "" {
						if v.Queue >= 0 {
							assumed++
						}
						v.Queue, v.Template = -1, -1
					}
				}
			}
			if diff := gocmp.Diff(f.Preemption, p.Preemption, cmpopts.EquateEmpty()); diff != "" {
				t.Fatalf("seed %d, entry %d (-Filter +Place):\n%s", seed, i, diff)
			}
		}
	}
	t.Logf("%d compared, %d victims that Place placed", compared, assumed)
	if min(compared, assumed) == 0 {
		t.Error("some outcome never occurs")
	}
}

// TestPreemptionCached asks for preemption with and without a cached answer, and after another request for it.
func TestPreemptionCached(t *testing.T) {
	stated := enginetest.Cluster(
		enginetest.MakeNode("n1").Allocate("cpu", 1000, "pods", 10).Run(enginetest.MakePod("a").Request("cpu", 900)),
	)
	pod := enginetest.MakePod("x").Request("cpu", 1000).Priority(1)
	c := compiled(t, stated)
	ask := func(key string, preempt *engine.PreemptOptions) *verdict.Filter {
		f, err := c.Filter(t.Context(), &pod.Pod, engine.FilterOptions{Profile: api.Kube137(), Key: key, Preempt: preempt})
		if err != nil {
			t.Fatal(err)
		}
		return f
	}
	o := &engine.PreemptOptions{All: true}
	want, without := ask("", o), ask("", nil)
	for range 2 {
		if diff := gocmp.Diff(want, ask("key", o)); diff != "" {
			t.Errorf("with a key:\n%s", diff)
		}
		if diff := gocmp.Diff(without, ask("key", nil)); diff != "" || without.Preemption != nil {
			t.Errorf("without preemption:\n%s", diff)
		}
	}
}

// TestPreemptionOfChangedCluster compares a cluster that With derived with the same one compiled from scratch.
func TestPreemptionOfChangedCluster(t *testing.T) {
	for seed := range uint64(cases(200)) {
		rng := rand.New(rand.NewPCG(seed, 79))
		stated, pods := enginetest.Random(rng)
		enginetest.RandomVictims(rng, stated, pods)
		before := *stated
		before.Budgets, before.Nodes = nil, slices.Clone(stated.Nodes)
		before.Nodes[0].Pods = nil
		changed, err := compiled(t, &before).With(t.Context(), &api.Delta{
			Replaced: []api.Replacement{{Index: 0, Node: stated.Nodes[0]}}, Budgets: stated.Budgets,
		})
		if err != nil {
			t.Fatal(err)
		}
		for i := range pods {
			o := engine.FilterOptions{Profile: api.Kube137(), Preempt: &engine.PreemptOptions{All: true}}
			got, err := changed.Filter(t.Context(), &pods[i], o)
			if err != nil {
				t.Fatal(err)
			}
			if diff := gocmp.Diff(filterOf(t, stated, &pods[i], o), got); diff != "" {
				t.Fatalf("seed %d, pod %d (-compiled +changed):\n%s", seed, i, diff)
			}
		}
	}
}

// TestPreemptionsOfAQueueAreBounded places pods that differ in their requests, until their preemptions list too much.
func TestPreemptionsOfAQueueAreBounded(t *testing.T) {
	const nodes, entries = 50_000, 42
	stated := &api.Cluster{}
	victim := &api.PodTemplate{Namespace: "default"}
	stated.Templates = []*api.PodTemplate{victim}
	for i := range nodes {
		stated.Nodes = append(stated.Nodes, api.Node{
			Name: fmt.Sprint("n", i), NodeSpec: api.NodeSpec{Allocatable: api.Resources{{Resource: "pods", Amount: 1}}},
			PodCounts: []api.PodCount{{Count: 1}},
		})
	}
	var queue []engine.Pending
	for i := range entries {
		pod := enginetest.MakePod("x").Request("cpu", 1+i).Priority(-1)
		queue = append(queue, engine.Pending{Pod: pod.Pod, Count: 1})
	}
	c, err := engine.Compile(t.Context(), stated)
	if err != nil {
		t.Fatal(err)
	}
	placed, err := c.Place(t.Context(), queue, engine.PlaceOptions{Profile: api.Kube137(), Preempt: true})
	if err != nil {
		t.Fatal(err)
	}
	for i, p := range placed.Placements {
		if has, want := p.Preemption != nil, (i+1)*nodes <= verdict.MaxListedNodes; has != want {
			t.Errorf("entry %d has a preemption: %t, want %t", i, has, want)
		}
		if !strings.Contains(p.Message, " preemption: 0/50000 nodes are available: ") {
			t.Errorf("entry %d: %s", i, p.Message)
		}
	}
}
