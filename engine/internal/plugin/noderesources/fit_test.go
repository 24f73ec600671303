package noderesources

import (
	"context"
	"fmt"
	"testing"

	"pgregory.net/rapid"

	"github.com/stowage-scheduler/stowage/engine/api"
	"github.com/stowage-scheduler/stowage/engine/enginetest"
	"github.com/stowage-scheduler/stowage/engine/internal/cluster"
	"github.com/stowage-scheduler/stowage/engine/internal/plugin"
)

// TestFull compares the nodes that lack room with asking node by node, before and after pods were placed, on enough nodes
// that some are passed over by what the fullest of them has left, and after a change to one of them.
func TestFull(t *testing.T) {
	ctx := context.Background()
	rapid.Check(t, func(t *rapid.T) {
		amount := func(most int, name string) int { return rapid.IntRange(0, most).Draw(t, name) }
		node := func(i int) api.Node {
			n := enginetest.MakeNode(fmt.Sprint("node-", i)).Allocate("cpu", 8, "memory", 8, "pods", 1+amount(2, "pods"))
			if amount(3, "has pods") == 0 {
				n.Run(enginetest.MakePod("there").Request("cpu", amount(9, "cpu"), "memory", amount(9, "memory")))
			}
			return n.Node
		}
		nodes := make([]api.Node, rapid.IntRange(1, 200).Draw(t, "nodes"))
		for i := range nodes {
			nodes[i] = node(i)
		}
		c, err := cluster.Compile(ctx, &api.Cluster{Nodes: nodes})
		if err != nil {
			t.Fatal(err)
		}
		pod := enginetest.MakePod("p").Request("cpu", amount(5, "cpu"), "memory", amount(5, "memory")).Pod
		check := func(state *cluster.State) {
			f := NewFit(&plugin.Cycle{State: state, Pod: state.Compile(&pod), Profile: api.Kube137()})
			full := f.Full()
			for n := range uint32(len(nodes)) {
				if full.Has(n) != f.FullOn(n) {
					t.Fatalf("node %d lacks room: %v, want %v", n, full.Has(n), f.FullOn(n))
				}
			}
		}
		state := cluster.NewState(ctx, c)
		check(state)
		for range amount(20, "placed") {
			state.Assume(state.Compile(&pod), "", uint32(amount(len(nodes)-1, "on")), 0)
		}
		check(state)
		at := amount(len(nodes)-1, "changed")
		changed, err := c.With(ctx, &api.Delta{Replaced: []api.Replacement{{Index: uint32(at), Node: node(at)}}})
		if err != nil {
			t.Fatal(err)
		}
		check(cluster.NewState(ctx, changed))
	})
}
