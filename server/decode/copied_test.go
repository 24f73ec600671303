package decode_test

import (
	"context"
	"fmt"
	"runtime"
	"testing"

	"github.com/stowage-scheduler/stowage/bench/bigcluster"
	stowagev1 "github.com/stowage-scheduler/stowage/proto/stowage/v1"
	"github.com/stowage-scheduler/stowage/server/decode"
)

func TestCopiedBy(t *testing.T) {
	node := func(name string) *stowagev1.Node {
		return &stowagev1.Node{Name: name, Labels: map[string]string{"a": "b"}}
	}
	for _, nodes := range []int{100, 5000} {
		c := bigcluster.New(nodes)
		base := mustWhole(t, bigcluster.Compact(c))
		for what, d := range map[string]*stowagev1.ClusterDelta{
			"pods": {NodePods: []*stowagev1.NodePodsDelta{{
				NodeName: c.Nodes[5].Name, PodCounts: []*stowagev1.PodCount{{TemplateIndex: 1, Count: 1}},
			}}},
			"another node":    {Nodes: []*stowagev1.Node{node(c.Nodes[3].Name)}},
			"a node more":     {Nodes: []*stowagev1.Node{node("new")}},
			"a node less":     {RemovedNodes: []string{c.Nodes[5].Name}},
			"one for another": {RemovedNodes: []string{c.Nodes[5].Name}, Nodes: []*stowagev1.Node{node("new")}},
		} {
			checkCopied(t, fmt.Sprintf("%d nodes, %s", nodes, what), base, d)
		}
	}
}

// A delta that changes a namespace, a workload selector or a budget reads all of them again.
func TestListsCopiedBy(t *testing.T) {
	c := &stowagev1.Cluster{}
	labels := func(i int) map[string]string {
		return map[string]string{"app": fmt.Sprint("application-", i), "kubernetes.io/metadata.name": fmt.Sprint("namespace-", i)}
	}
	for i := range 10_000 {
		name, of := fmt.Sprint("some-object-", i), &stowagev1.LabelSelector{MatchLabels: labels(i)}
		c.Namespaces = append(c.Namespaces, &stowagev1.Namespace{Name: name, Labels: labels(i)})
		c.WorkloadSelectors = append(c.WorkloadSelectors, &stowagev1.WorkloadSelector{Kind: 1, Name: name, Selector: of})
		c.PodDisruptionBudgets = append(c.PodDisruptionBudgets, &stowagev1.PodDisruptionBudget{
			Name: name, Selector: of, DisruptedPods: []string{name + "-0", name + "-1"},
		})
	}
	base := mustWhole(t, c)
	for what, d := range map[string]*stowagev1.ClusterDelta{
		"a namespace less": {RemovedNamespaces: []string{"some-object-5"}},
		"a selector more":  {WorkloadSelectors: []*stowagev1.WorkloadSelector{{Kind: 1, Name: "another"}}},
		"a budget more":    {PodDisruptionBudgets: []*stowagev1.PodDisruptionBudget{{Name: "another"}}},
		"a budget less":    {RemovedPodDisruptionBudgets: []*stowagev1.NamespacedName{{Name: "some-object-5"}}},
	} {
		checkCopied(t, what, base, d)
	}
}

func checkCopied(t *testing.T, what string, base *decode.Snapshot, d *stowagev1.ClusterDelta) {
	t.Helper()
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	r := decode.On(context.Background(), base)
	r.Delta("delta", d)
	if err := r.Err(); err != nil {
		t.Fatal(err)
	}
	runtime.ReadMemStats(&after)
	copied, estimate := int64(after.TotalAlloc-before.TotalAlloc), base.CopiedBy(d)
	t.Logf("%s: %d bytes, estimated %d", what, copied, estimate)
	if copied > estimate*2 || copied < estimate/4 {
		t.Errorf("%s: %d bytes are copied, estimated %d", what, copied, estimate)
	}
}
