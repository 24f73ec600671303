package decode_test

import (
	"context"
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
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			r := decode.On(context.Background(), base)
			r.Delta("delta", d)
			if err := r.Err(); err != nil {
				t.Fatal(err)
			}
			runtime.ReadMemStats(&after)
			copied, estimate := int64(after.TotalAlloc-before.TotalAlloc), base.CopiedBy(d)
			t.Logf("%d nodes, %s: %d bytes, estimated %d", nodes, what, copied, estimate)
			if copied > estimate*2 || copied < estimate/4 {
				t.Errorf("%d nodes, %s: %d bytes are copied, estimated %d", nodes, what, copied, estimate)
			}
		}
	}
}
