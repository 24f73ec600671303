package content

import (
	"context"
	"fmt"
	"testing"

	"pgregory.net/rapid"

	"github.com/stowage-scheduler/stowage/proto/content/contenttest"
	stowagev1 "github.com/stowage-scheduler/stowage/proto/stowage/v1"
)

// TestDifference expects that the difference of random contents leads from one to the other wherever one delta has done so, and is
// refused or missing at most where several did, or where templates or classes were replaced.
func TestDifference(t *testing.T) {
	exact := 0
	rapid.Check(t, func(t *rapid.T) {
		s := &sound{t: t}
		cluster := s.cluster()
		if overflows(cluster) {
			return
		}
		first := mustOf(t, cluster)
		before := first
		check := func(from, to *Content, must bool) {
			d := from.Difference(to, 1<<20)
			if d == nil {
				if must {
					t.Fatal("there is no difference")
				}
				return
			}
			got, change, err := from.Apply(context.Background(), d)
			if err != nil {
				if must {
					t.Fatalf("%v: %v", d, err)
				}
				return
			}
			exact++
			if got.Address() != to.Address() {
				t.Fatalf("the difference %v leads elsewhere", d)
			}
			items := len(change.Templates) + len(change.Classes) + len(change.Removed) + len(change.Nodes) + len(d.Namespaces) +
				len(d.RemovedNamespaces) + len(d.WorkloadSelectors) + len(d.RemovedWorkloadSelectors) + len(d.PodDisruptionBudgets) +
				len(d.RemovedPodDisruptionBudgets) + len(d.PodGroups) + len(d.RemovedPodGroups)
			if from.Difference(to, items) == nil || items > 0 && from.Difference(to, items-1) != nil {
				t.Fatalf("a difference of %d items is not bounded", items)
			}
		}
		for range rapid.IntRange(1, 4).Draw(t, "deltas") {
			cluster = mustCluster(t, before)
			s.templates, s.classes = uint32(len(cluster.PodTemplates)), uint32(len(cluster.NodeClasses))
			d := s.delta(cluster)
			if _, ok := contenttest.Apply(cluster, d); !ok {
				continue
			}
			next, change, err := before.Apply(context.Background(), d)
			if err != nil {
				t.Fatal(err)
			}
			replaces := false
			for _, x := range change.Templates {
				replaces = replaces || int(x.GetIndex()) < len(cluster.PodTemplates)
			}
			for _, x := range change.Classes {
				replaces = replaces || int(x.GetIndex()) < len(cluster.NodeClasses)
			}
			check(before, next, !replaces)
			before = next
		}
		check(first, before, false)
		check(before, first, false)
		check(before, before, true)
	})
	if exact < 50 {
		t.Errorf("only %d differences were exact", exact)
	}
}

// TestDifferenceOfPages expects the changes of a cluster of several pages, whose pages move as nodes go.
func TestDifferenceOfPages(t *testing.T) {
	c := &stowagev1.Cluster{}
	for i := range 3*pageSize + 7 {
		c.Nodes = append(c.Nodes, &stowagev1.Node{Name: fmt.Sprint("node-", i)})
	}
	from, err := Of(c)
	if err != nil {
		t.Fatal(err)
	}
	for name, d := range map[string]*stowagev1.ClusterDelta{
		"nothing":         {},
		"the first":       {RemovedNodes: []string{"node-0"}},
		"the last":        {RemovedNodes: []string{"node-774"}},
		"one of a page":   {Nodes: []*stowagev1.Node{{Name: "node-300", Unschedulable: true}}},
		"one more":        {Nodes: []*stowagev1.Node{{Name: "x"}}},
		"one for another": {RemovedNodes: []string{"node-255"}, Nodes: []*stowagev1.Node{{Name: "x"}, {Name: "node-256", Unschedulable: true}}},
	} {
		to, _, err := from.Apply(t.Context(), d)
		if err != nil {
			t.Fatal(err)
		}
		got := from.Difference(to, 10)
		if len(got.GetNodes()) != len(d.Nodes) || len(got.GetRemovedNodes()) != len(d.RemovedNodes) {
			t.Errorf("%s: the difference is %v", name, got)
		}
		if again, _, err := from.Apply(t.Context(), got); err != nil || again.Address() != to.Address() {
			t.Errorf("%s: %v leads elsewhere, %v", name, got, err)
		}
	}
	moved := &stowagev1.Cluster{Nodes: append(c.Nodes[1:len(c.Nodes):len(c.Nodes)], c.Nodes[0])}
	to, err := Of(moved)
	if err != nil {
		t.Fatal(err)
	}
	if d := from.Difference(to, 10000); d != nil {
		t.Errorf("nodes in another order have the difference %v", d)
	}
}
