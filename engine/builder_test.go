package engine_test

import (
	"context"
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"
	"unsafe"

	"github.com/google/go-cmp/cmp"

	"github.com/stowage-scheduler/stowage/engine"
	"github.com/stowage-scheduler/stowage/engine/api"
	"github.com/stowage-scheduler/stowage/engine/enginetest"
	"github.com/stowage-scheduler/stowage/engine/verdict"
)

// answers is the cluster's results for some pods.
type answers struct {
	Names  []string
	Filter []*verdict.Filter
	Score  []*verdict.Score
	Place  []verdict.Placement
	Down   []*verdict.ScaleDown
}

func ask(t testing.TB, c *engine.Cluster, pods []api.Pod) answers {
	t.Helper()
	ctx := context.Background()
	a := answers{Names: slices.Concat(c.Names())}
	var queue []engine.Pending
	for i := range pods {
		f, err := c.Filter(ctx, &pods[i], engine.FilterOptions{Profile: api.Kube137(), Explain: true})
		if err != nil {
			t.Error(err)
		}
		s, err := c.Score(ctx, &pods[i], engine.ScoreOptions{Profile: api.Kube137()})
		if err != nil {
			t.Error(err)
		}
		a.Filter, a.Score = append(a.Filter, f), append(a.Score, s)
		queue = append(queue, engine.Pending{Pod: pods[i], Count: 3})
		d, err := c.ScaleDown(ctx, &pods[i], engine.ScaleDownOptions{
			Profile: api.Kube137(), Selector: &api.LabelSelector{}, Replicas: 1,
		})
		if err != nil {
			t.Error(err)
		}
		a.Down = append(a.Down, d)
	}
	p, err := c.Place(ctx, queue, engine.PlaceOptions{Profile: api.Kube137(), Explain: true, Seed: 7})
	if err != nil {
		t.Error(err)
	}
	a.Place = p.Placements
	for i, name := range a.Names {
		if n, ok := c.Node(name); !ok || n != uint32(i) {
			t.Errorf("Node(%q) = %d, %v, want %d", name, n, ok, i)
		}
	}
	return a
}

// difference is cmp.Diff of the differing parts only, because cmp.Diff is slow.
func difference(want, got answers) string {
	if reflect.DeepEqual(want, got) {
		return ""
	}
	return cmp.Diff(want, got) + "\n(or a nil that should be empty, or the reverse)"
}

func compiled(t testing.TB, stated *api.Cluster) *engine.Cluster {
	t.Helper()
	c, err := engine.Compile(context.Background(), stated)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// TestClassesAsIfSpelledOut compares clusters with node classes with the same clusters without them.
func TestClassesAsIfSpelledOut(t *testing.T) {
	classed := 0
	for seed := range uint64(300) {
		stated, pods := enginetest.RandomShared(rand.New(rand.NewPCG(seed, 4)))
		if seed%2 == 0 {
			enginetest.RandomFields(rand.New(rand.NewPCG(seed, 36)), stated, pods)
		}
		spelled := *stated
		spelled.Classes, spelled.Nodes = nil, nil
		for _, n := range stated.Nodes {
			if n.Class != nil {
				classed++
			}
			spelled.Nodes = append(spelled.Nodes, inlined(n))
		}
		if diff := difference(ask(t, compiled(t, &spelled), pods), ask(t, compiled(t, stated), pods)); diff != "" {
			t.Fatalf("seed %d (-spelled out +with classes):\n%s", seed, diff)
		}
	}
	if classed < 1000 {
		t.Errorf("only %d nodes had a class", classed)
	}
}

// TestNodesMayBeTransient compiles from a node whose memory is overwritten after each use.
func TestNodesMayBeTransient(t *testing.T) {
	ctx := context.Background()
	for seed := range uint64(100) {
		rng := rand.New(rand.NewPCG(seed, 5))
		stated, pods := enginetest.RandomShared(rng)
		b := engine.NewBuilder()
		for _, x := range stated.Templates {
			b.AddTemplate(x)
		}
		for _, x := range stated.Classes {
			b.AddClass(x)
		}
		for _, x := range stated.Namespaces {
			b.AddNamespace(x)
		}
		for _, x := range stated.WorkloadSelectors {
			b.AddWorkloadSelector(x)
		}
		for i := range stated.Nodes {
			n, poison := transient(stated.Nodes[i])
			if err := b.AddNode(ctx, &n); err != nil {
				t.Fatal(err)
			}
			poison()
		}
		c := b.Build()
		if diff := difference(ask(t, compiled(t, stated), pods), ask(t, c, pods)); diff != "" {
			t.Fatalf("seed %d (-kept +overwritten):\n%s", seed, diff)
		}

		replaced := enginetest.RandomSharedNode(rng, stated, stated.Nodes[0].Name)
		added := enginetest.RandomSharedNode(rng, stated, "added")
		r, poisonReplaced := transient(replaced)
		a, poisonAdded := transient(added)
		derived, err := c.With(ctx, &api.Delta{Replaced: []api.Replacement{{Node: r}}, Added: []api.Node{a}})
		if err != nil {
			t.Fatal(err)
		}
		poisonReplaced()
		poisonAdded()
		stated.Nodes = append(append([]api.Node{replaced}, stated.Nodes[1:]...), added)
		if diff := difference(ask(t, compiled(t, stated), pods), ask(t, derived, pods)); diff != "" {
			t.Fatalf("seed %d, derived (-kept +overwritten):\n%s", seed, diff)
		}
	}
}

// transient returns a node like n whose strings and slices poison overwrites; templates and classes stay n's.
func transient(n api.Node) (node api.Node, poison func()) {
	var buffers [][]byte
	text := func(s *string) {
		b := []byte(*s)
		buffers = append(buffers, b)
		*s = unsafe.String(unsafe.SliceData(b), len(b))
	}
	labels := func(l *api.Labels) {
		*l = append(api.Labels(nil), *l...)
		for i := range *l {
			text(&(*l)[i].Key)
			text(&(*l)[i].Value)
		}
	}
	resources := func(r *api.Resources) {
		if *r == nil {
			return
		}
		*r = append(api.Resources{}, *r...)
		for i := range *r {
			text(&(*r)[i].Resource)
		}
	}
	text(&n.Name)
	labels(&n.Labels)
	resources(&n.Allocatable)
	n.Taints = append([]api.Taint(nil), n.Taints...)
	for i := range n.Taints {
		text(&n.Taints[i].Key)
		text(&n.Taints[i].Value)
	}
	n.Images = append([]api.Image(nil), n.Images...)
	for i := range n.Images {
		n.Images[i].Names = append([]string(nil), n.Images[i].Names...)
		for j := range n.Images[i].Names {
			text(&n.Images[i].Names[j])
		}
	}
	n.PodCounts = append([]api.PodCount(nil), n.PodCounts...)
	n.Pods = append([]api.Pod(nil), n.Pods...)
	for i := range n.Pods {
		p := &n.Pods[i]
		text(&p.Name)
		labels(&p.Labels)
		if p.ResourceStatus != nil {
			status := *p.ResourceStatus
			status.Containers = append([]api.ContainerResourceStatus(nil), status.Containers...)
			for j := range status.Containers {
				text(&status.Containers[j].Name)
				resources(&status.Containers[j].Allocated)
				resources(&status.Containers[j].Actuated)
			}
			p.ResourceStatus = &status
		}
	}
	return n, func() {
		for _, b := range buffers {
			for i := range b {
				b[i] = '#'
			}
		}
		clear(n.Labels)
		clear(n.Taints)
		clear(n.Images)
		clear(n.PodCounts)
		clear(n.Pods)
		clear(n.Allocatable)
	}
}
