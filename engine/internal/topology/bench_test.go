package topology_test

import (
	"fmt"
	"runtime"
	"testing"

	"github.com/stowage-scheduler/stowage/engine/internal/intern"
	"github.com/stowage-scheduler/stowage/engine/internal/topology"
)

// BenchmarkCount counts the pods of 100,000 nodes, 30 on each, of 500 groups.
func BenchmarkCount(b *testing.B) {
	const nodes, groups, each = 100_000, 500, 6_000
	for _, domains := range []int{3, 1250} {
		c := &topology.Column{Domain: make([]int32, nodes), Values: make([]intern.ID, domains+1)}
		for i := range c.Domain {
			c.Domain[i] = int32(1 + i%domains)
		}
		members := make([]topology.Members, groups)
		for g := range members {
			for i := range each {
				members[g].Nodes = append(members[g].Nodes, uint32((i*16+g%16)%nodes))
			}
		}
		for _, procs := range []int{1, 2} {
			b.Run(fmt.Sprintf("domains=%d/procs=%d", domains, procs), func(b *testing.B) {
				defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(procs))
				for b.Loop() {
					var pods int64
					for _, n := range topology.Count(c, members, nil) {
						pods += n
					}
					if pods != groups*each {
						b.Fatalf("%d pods", pods)
					}
				}
			})
		}
	}
}
