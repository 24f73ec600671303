package topology_test

import (
	"math/rand/v2"
	"runtime"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/stowage-scheduler/stowage/engine/internal/intern"
	"github.com/stowage-scheduler/stowage/engine/internal/nodeset"
	"github.com/stowage-scheduler/stowage/engine/internal/topology"
)

// TestCountIn compares counting in two columns at once, by any number of workers, with counting pod by pod: on more nodes
// than are counted at a time, more members than are, with single pods and with others.
func TestCountIn(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(0))
	rng := rand.New(rand.NewPCG(3, 5))
	for _, test := range []struct{ nodes, groups int }{{70_000, 6}, {70, 300}, {65_536, 3}, {1, 600}, {0, 3}} {
		columns := make([]*topology.Column, 2)
		for i, domains := range []int{4, 1000} {
			c := &topology.Column{Domain: make([]int32, test.nodes), Values: make([]intern.ID, domains)}
			for n := range c.Domain {
				c.Domain[n] = int32(rng.IntN(domains))
			}
			columns[i] = c
		}
		only := []nodeset.Set{nil, nodeset.New(test.nodes)}
		for n := range test.nodes {
			if rng.IntN(3) > 0 {
				only[1].Add(uint32(n))
			}
		}
		members := make([]topology.Members, test.groups)
		want := [][]int64{make([]int64, columns[0].Len()), make([]int64, columns[1].Len())}
		add := func(node uint32, count int64) {
			for i, c := range columns {
				if only[i] == nil || only[i].Has(node) {
					want[i][c.Domain[node]] += count
				}
			}
		}
		for g := range members {
			m := &members[g]
			for n := range test.nodes {
				if rng.IntN(8) > 0 || g%5 == 4 { // some are on every node
					m.Nodes = append(m.Nodes, uint32(n))
				}
			}
			if g%7 == 3 {
				for range m.Nodes {
					m.Counts = append(m.Counts, rng.Int32N(9))
				}
			}
			if g%11 == 7 {
				m.Assumed = []uint32{uint32(rng.IntN(test.nodes)), 0, 0}
			}
			for i, n := range m.Nodes {
				add(n, int64(m.Count(i)))
			}
			for _, n := range m.Assumed {
				add(n, 1)
			}
		}
		for _, procs := range []int{1, 2, 7} {
			runtime.GOMAXPROCS(procs)
			if diff := cmp.Diff(want, topology.CountIn(columns, members, only)); diff != "" {
				t.Errorf("%d nodes on %d (-want +got):\n%s", test.nodes, procs, diff)
			}
		}
	}
}
