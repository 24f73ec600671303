package topology_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/stowage-scheduler/stowage/engine/internal/intern"
	"github.com/stowage-scheduler/stowage/engine/internal/nodeset"
	"github.com/stowage-scheduler/stowage/engine/internal/topology"
)

// TestNodes compares the nodes that a column finds with asking node by node, in columns of few domains, of many, and of one
// for each node.
func TestNodes(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		nodes := rapid.IntRange(0, 200).Draw(t, "nodes")
		values := rapid.SampledFrom([]int{1, 3, 60, 1000}).Draw(t, "values")
		lacking := rapid.Bool().Draw(t, "some nodes lack the key")
		label := make([]int, nodes)
		for n := range label {
			label[n] = n % values
			if values < 1000 {
				label[n] = rapid.IntRange(0, values-1).Draw(t, "value")
			}
			if lacking && rapid.IntRange(0, 9).Draw(t, "lacks the key") == 0 {
				label[n] = -1
			}
		}
		c := topology.Build(nodes, values, func(n uint32) (intern.ID, bool) { return intern.ID(max(label[n], 0)), label[n] >= 0 })

		table := make([]uint8, c.Len())
		for d := range table {
			table[d] = uint8(rapid.IntRange(0, 1).Draw(t, "table"))
		}
		in, where := nodeset.New(nodes), nodeset.New(nodes)
		present := make([]bool, c.Len())
		each := len(c.Having) > 0 || nodes == 0
		seen := map[int32]bool{topology.None: true}
		for n, d := range c.Domain {
			if table[d] == 1 {
				where.Add(uint32(n))
			}
			if rapid.IntRange(0, 2).Draw(t, "in") == 0 {
				in.Add(uint32(n))
				present[d] = true
			}
			each = each && !seen[d]
			seen[d] = true
		}
		same(t, "Where", c.Where(table), where)
		same(t, "Present", c.Present(in), present)
		same(t, "Each", c.Each(), each)

		var members []topology.Members
		inhabited, some := make([]bool, c.Len()), false
		pod := func(n uint32) uint32 {
			inhabited[c.Domain[n]] = true
			some = some || c.Domain[n] != topology.None
			return n
		}
		for range rapid.IntRange(0, min(nodes, 3)).Draw(t, "groups") {
			var m topology.Members
			for range rapid.IntRange(0, 4).Draw(t, "entries") {
				m.Nodes = append(m.Nodes, pod(rapid.Uint32Range(0, uint32(nodes-1)).Draw(t, "node")))
				m.Counts = append(m.Counts, rapid.Int32Range(1, 9).Draw(t, "count"))
			}
			for range rapid.IntRange(0, 2).Draw(t, "assumed pods") {
				m.Assumed = append(m.Assumed, pod(rapid.Uint32Range(0, uint32(nodes-1)).Draw(t, "node")))
			}
			members = append(members, m)
		}
		inhabited[topology.None] = false
		var want nodeset.Set
		if some {
			want = nodeset.New(nodes)
			for n, d := range c.Domain {
				if inhabited[d] {
					want.Add(uint32(n))
				}
			}
		}
		same(t, "Inhabited", c.Inhabited(members), want)
	})
}

func same(t *rapid.T, what string, got, want any) {
	t.Helper()
	if diff := cmp.Diff(want, got); diff != "" {
		t.Fatalf("%s: (-want +got)\n%s", what, diff)
	}
}
