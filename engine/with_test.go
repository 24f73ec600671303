package engine_test

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"runtime"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/stowage-scheduler/stowage/engine"
	"github.com/stowage-scheduler/stowage/engine/api"
	"github.com/stowage-scheduler/stowage/engine/enginetest"
	"github.com/stowage-scheduler/stowage/engine/enginetest/raced"
	"github.com/stowage-scheduler/stowage/engine/verdict"
)

// TestWithAsIfCompiled applies random changes, each to a random one of the clusters derived so far, and compares with
// the resulting cluster compiled from scratch. All bases must stay unchanged.
func TestWithAsIfCompiled(t *testing.T) {
	for seed := range uint64(cases(300)) {
		rng := rand.New(rand.NewPCG(seed, 6))
		stated, pods := enginetest.RandomShared(rng)
		if seed%2 == 0 {
			enginetest.RandomFields(rng, stated, pods)
		}
		if seed%30 == 0 { // columns have several pages
			for i := range 50 + rng.IntN(150) {
				stated.Nodes = append(stated.Nodes, enginetest.RandomSharedNode(rng, stated, fmt.Sprint("more-", i)))
			}
		}
		type version struct {
			stated *api.Cluster
			c      *engine.Cluster
		}
		versions := []version{{stated, compiled(t, stated)}}
		for step := range 12 {
			base := versions[max(rng.IntN(len(versions)), rng.IntN(len(versions)))]
			if rng.IntN(2) == 0 {
				ask(t, base.c, pods) // so that it remembers something
			}
			change, stated := randomChange(rng, base.stated, step)
			c, err := base.c.With(context.Background(), change)
			if err != nil {
				t.Fatal(err)
			}
			fresh := compiled(t, stated)
			sizes := [2]int64{fresh.Bytes() - fresh.Remembered(), c.Bytes() - c.Remembered()}
			if diff := difference(ask(t, fresh, pods), ask(t, c, pods)); diff != "" {
				t.Fatalf("seed %d, step %d (-compiled +derived):\n%s", seed, step, diff)
			}
			// A derived cluster keeps strings, templates and groups that are gone.
			if least := sizes[0] * 9 / 10; sizes[1] < least || sizes[1] > 5*sizes[0] {
				t.Errorf("seed %d, step %d: %d bytes, compiled %d", seed, step, sizes[1], sizes[0])
			}
			if !slices.Equal(c.Templates(), stated.Templates) || !slices.Equal(c.Classes(), stated.Classes) {
				t.Fatalf("seed %d, step %d: templates or classes differ", seed, step)
			}
			versions = append(versions, version{stated, c})
		}
		for i, v := range versions {
			if diff := difference(ask(t, compiled(t, v.stated), pods), ask(t, v.c, pods)); diff != "" {
				t.Fatalf("seed %d, version %d in the end (-compiled +derived):\n%s", seed, i, diff)
			}
		}
	}
}

// randomChange returns a change, and the cluster that it turns base into.
func randomChange(rng *rand.Rand, base *api.Cluster, step int) (*api.Delta, *api.Cluster) {
	change := &api.Delta{}
	result := *base
	result.Templates, result.Classes = slices.Clone(base.Templates), slices.Clone(base.Classes)
	stale := make(map[uint32]bool) // nodes that must be replaced or removed
	if rng.IntN(3) == 0 {
		i := rng.IntN(len(base.Templates) + 1)
		t := enginetest.RandomTemplate(rng)
		change.Templates = append(change.Templates, api.IndexedTemplate{Index: i, Template: t})
		result.Templates = append(result.Templates[:i], append([]*api.PodTemplate{t}, result.Templates[min(i+1, len(base.Templates)):]...)...)
		for n := range base.Nodes {
			counted := slices.ContainsFunc(base.Nodes[n].PodCounts, func(p api.PodCount) bool { return p.Template == i })
			refers := func(p api.Pod) bool { return p.TemplateIndex == i }
			if counted || slices.ContainsFunc(base.Nodes[n].Pods, refers) || slices.ContainsFunc(base.Nodes[n].Nominated, refers) {
				stale[uint32(n)] = true
			}
		}
	}
	if rng.IntN(3) == 0 {
		i := rng.IntN(len(base.Classes) + 1)
		class := enginetest.RandomClass(rng)
		change.Classes = append(change.Classes, api.IndexedClass{Index: i, Class: class})
		if i == len(base.Classes) {
			result.Classes = append(result.Classes, class)
		} else {
			for n := range base.Nodes {
				if base.Nodes[n].Class == base.Classes[i] {
					stale[uint32(n)] = true
				}
			}
			result.Classes[i] = class
		}
	}
	result.Nodes = nil
	for i, n := range base.Nodes {
		switch {
		case rng.IntN(12) == 0:
			change.Removed = append(change.Removed, uint32(i))
			continue
		case stale[uint32(i)] || rng.IntN(8) == 0:
			now := enginetest.RandomSharedNode(rng, &result, n.Name)
			if !stale[uint32(i)] && rng.IntN(2) == 0 { // other pods only
				n.PodCounts, n.Pods, n.Nominated = now.PodCounts, now.Pods, now.Nominated
				now = n
			}
			change.Replaced = append(change.Replaced, api.Replacement{Index: uint32(i), Node: now})
			n = now
		}
		result.Nodes = append(result.Nodes, n)
	}
	if rng.IntN(4) == 0 {
		for i := range 1 + rng.IntN(2) {
			change.Added = append(change.Added, enginetest.RandomSharedNode(rng, &result, fmt.Sprintf("added-%d-%d", step, i)))
		}
		result.Nodes = append(result.Nodes, change.Added...)
	}
	if rng.IntN(4) == 0 {
		change.Namespaces = []api.Namespace{{Name: "default", Labels: api.Labels{{Key: "team", Value: fmt.Sprint("team-", step)}}}}
		result.Namespaces = change.Namespaces
	}
	if rng.IntN(4) == 0 {
		change.WorkloadSelectors = []api.WorkloadSelector{}
		if rng.IntN(2) == 0 {
			change.WorkloadSelectors = append(change.WorkloadSelectors, api.WorkloadSelector{
				Kind: api.Service, Namespace: "default", Name: "db", Selector: enginetest.Selects("app", "db"),
			})
		}
		result.WorkloadSelectors = change.WorkloadSelectors
	}
	return change, &result
}

// TestScannedAsIfCompiled removes the only node with its pods. The result equals a cluster that never had them.
func TestScannedAsIfCompiled(t *testing.T) {
	node := api.Node{Name: "node"}
	for i := range 4 {
		node.Pods = append(node.Pods, api.Pod{TemplateIndex: -1, Template: &api.PodTemplate{Labels: api.Labels{{Key: "app", Value: fmt.Sprint(i)}}}})
	}
	c, err := compiled(t, &api.Cluster{Nodes: []api.Node{node}}).With(t.Context(), &api.Delta{Removed: []uint32{0}})
	if err != nil {
		t.Fatal(err)
	}
	queue := []engine.Pending{{Pod: api.Pod{TemplateIndex: -1, Template: &api.PodTemplate{}}, Count: 2}}
	place := func(c *engine.Cluster) *verdict.Place {
		p, err := c.Place(t.Context(), queue, engine.PlaceOptions{Profile: api.Kube137()})
		if err != nil {
			t.Fatal(err)
		}
		return p
	}
	if diff := cmp.Diff(place(compiled(t, &api.Cluster{})), place(c)); diff != "" {
		t.Errorf("-compiled +derived:\n%s", diff)
	}
}

// TestNoNodesLeft evaluates a cluster whose only node was removed, for a pod that matched all pods of that node.
func TestNoNodesLeft(t *testing.T) {
	stated := &api.Cluster{Nodes: []api.Node{{Name: "node"}}}
	for i := range 4 {
		stated.Nodes[0].Pods = append(stated.Nodes[0].Pods, api.Pod{
			TemplateIndex: -1, Template: &api.PodTemplate{Labels: api.Labels{{Key: "app", Value: fmt.Sprint(i)}}},
		})
	}
	left, err := compiled(t, stated).With(t.Context(), &api.Delta{Removed: []uint32{0}})
	if err != nil {
		t.Fatal(err)
	}
	term := api.PodAffinityTerm{TopologyKey: "zone", LabelSelector: &api.LabelSelector{}, NamespaceSelector: &api.LabelSelector{}}
	required := &api.PodAffinity{Required: []api.PodAffinityTerm{term}}
	for name, spec := range map[string]api.PodSpec{
		"affinity":      {PodAffinity: required},
		"anti-affinity": {PodAntiAffinity: required},
		"preferred":     {PodAffinity: &api.PodAffinity{Preferred: []api.WeightedPodAffinityTerm{{Weight: 1, Term: term}}}},
		"spread": {Spread: []api.TopologySpreadConstraint{
			{MaxSkew: 1, TopologyKey: "zone", LabelSelector: &api.LabelSelector{}, MinDomains: 1},
		}},
	} {
		t.Run(name, func(t *testing.T) {
			pod := api.Pod{TemplateIndex: -1, Template: &api.PodTemplate{Spec: spec}}
			answers := func(c *engine.Cluster) []any {
				filter, err := c.Filter(t.Context(), &pod, engine.FilterOptions{Profile: api.Kube137(), Explain: true, Changes: true})
				if err != nil {
					t.Fatal(err)
				}
				score, err := c.Score(t.Context(), &pod, engine.ScoreOptions{Profile: api.Kube137()})
				if err != nil {
					t.Fatal(err)
				}
				place, err := c.Place(t.Context(), []engine.Pending{{Pod: pod, Count: 3}}, engine.PlaceOptions{Profile: api.Kube137()})
				if err != nil {
					t.Fatal(err)
				}
				return []any{filter, score, place}
			}
			if diff := cmp.Diff(answers(compiled(t, &api.Cluster{})), answers(left)); diff != "" {
				t.Errorf("-compiled +derived:\n%s", diff)
			}
		})
	}
}

// TestManyClasses checks that the cost of a class does not grow with the number of classes: ten times as many take ten
// times the processor time, not a hundred times.
func TestManyClasses(t *testing.T) {
	if raced.Detector {
		t.Skip("measures processor time")
	}
	class := func() *api.NodeClass {
		return &api.NodeClass{NodeSpec: api.NodeSpec{Images: []api.Image{{Names: []string{"image"}, SizeBytes: 1}}}}
	}
	cost := func(classes, times int) time.Duration {
		stated := &api.Cluster{Nodes: []api.Node{{Name: "node"}}}
		change := &api.Delta{}
		for i := range classes {
			stated.Classes = append(stated.Classes, class())
			change.Classes = append(change.Classes, api.IndexedClass{Index: i, Class: class()})
		}
		least := time.Duration(math.MaxInt64)
		for range times {
			runtime.GC()
			before := processorTime()
			c, err := engine.Compile(t.Context(), stated)
			if err != nil {
				t.Fatal(err)
			}
			if _, err := c.With(t.Context(), change); err != nil {
				t.Fatal(err)
			}
			least = min(least, processorTime()-before)
		}
		return least
	}
	few, many := cost(20_000, 5), cost(200_000, 2)
	if many > 50*few {
		t.Errorf("200,000 classes take %v of processor time, 20,000 take %v", many, few)
	}
}
