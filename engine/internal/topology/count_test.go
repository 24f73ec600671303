package topology_test

import (
	"runtime"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/stowage-scheduler/stowage/engine/internal/intern"
	"github.com/stowage-scheduler/stowage/engine/internal/nodeset"
	"github.com/stowage-scheduler/stowage/engine/internal/topology"
)

// TestCount compares counts, by any number of workers, with counting pod by pod.
func TestCount(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(0))
	rapid.Check(t, func(t *rapid.T) {
		nodes := rapid.IntRange(1, 50).Draw(t, "nodes")
		domains := rapid.IntRange(1, 5).Draw(t, "domains")
		c := &topology.Column{Domain: make([]int32, nodes), Values: make([]intern.ID, domains)}
		for i := range c.Domain {
			c.Domain[i] = rapid.Int32Range(0, int32(domains-1)).Draw(t, "domain")
		}
		// Repeating a member list many times is how entries get past the size at which counting is sharded.
		repeat := rapid.SampledFrom([]int{1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 60_000}).Draw(t, "repeat")
		var members []topology.Members
		for range rapid.IntRange(1, 4).Draw(t, "groups") {
			var m topology.Members
			for range rapid.IntRange(1, 4).Draw(t, "entries") {
				m.Nodes = append(m.Nodes, rapid.Uint32Range(0, uint32(nodes-1)).Draw(t, "node"))
				m.Counts = append(m.Counts, rapid.Int32Range(1, 9).Draw(t, "count"))
			}
			if rapid.Bool().Draw(t, "one each") {
				slices.Sort(m.Nodes)
				m.Nodes, m.Counts = slices.Compact(m.Nodes), nil
			}
			m.Assumed = rapid.SliceOfN(rapid.Uint32Range(0, uint32(nodes-1)), 0, 4).Draw(t, "assumed")
			members = append(members, m)
		}
		only := nodeset.Full(nodes)
		only.AndNot(nodeset.Of(nodes, []uint32{uint32(rapid.IntRange(0, nodes-1).Draw(t, "left out"))}))

		want := make([]int64, domains)
		wantOnly := make([]int64, domains)
		wantPerNode := make([]int64, nodes)
		add := func(node uint32, count int64) {
			want[c.Domain[node]] += count
			wantPerNode[node] += count
			if only.Has(node) {
				wantOnly[c.Domain[node]] += count
			}
		}
		for _, m := range members {
			for i, n := range m.Nodes {
				add(n, int64(m.Count(i)))
			}
			for _, n := range m.Assumed {
				add(n, 1)
			}
		}
		tripled := make([]int64, domains)
		for d := range want {
			tripled[d] = 3 * want[d]
		}
		if repeat > 1 {
			all := members
			for range repeat/len(members) - 1 {
				all = append(all, members...)
			}
			times := int64(len(all) / len(members))
			for _, w := range [][]int64{want, wantOnly, wantPerNode, tripled} {
				for i := range w {
					w[i] *= times
				}
			}
			members = all
		}
		for _, procs := range []int{1, 2, 7} {
			runtime.GOMAXPROCS(procs)
			if diff := cmp.Diff(want, topology.Count(c, members, nil)); diff != "" {
				t.Errorf("Count on %d (-want +got):\n%s", procs, diff)
			}
			if diff := cmp.Diff(wantOnly, topology.Count(c, members, only)); diff != "" {
				t.Errorf("Count of some on %d (-want +got):\n%s", procs, diff)
			}
		}
		added := make([]int64, domains)
		touched := false
		for _, m := range members {
			touched = topology.Add(added, c, m, 3) || touched
		}
		if diff := cmp.Diff(tripled, added); diff != "" {
			t.Errorf("Add (-want +got):\n%s", diff)
		}
		if onKey := slices.ContainsFunc(want[1:], func(n int64) bool { return n > 0 }); touched != onKey {
			t.Errorf("touched: %v", touched)
		}
		if diff := cmp.Diff(wantPerNode, topology.PerNode(nodes, members)); diff != "" {
			t.Errorf("PerNode (-want +got):\n%s", diff)
		}
	})
}
