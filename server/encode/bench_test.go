package encode_test

import (
	"fmt"
	"testing"

	"github.com/stowage-scheduler/stowage/engine/verdict"
	"github.com/stowage-scheduler/stowage/server/encode"
)

func BenchmarkScore(b *testing.B) {
	for _, nodes := range []int{5_000, 100_000} {
		s := &verdict.Score{Nodes: make([]uint32, nodes), Totals: make([]int64, nodes)}
		for i := range nodes {
			s.Nodes[i], s.Totals[i] = uint32(i), int64(300+i%400)
		}
		b.Run(fmt.Sprint("nodes=", nodes), func(b *testing.B) {
			for b.Loop() {
				if out, err := encode.Score(nil, s, nil, ""); err != nil || len(out) < 3*nodes {
					b.Fatal(len(out), err)
				}
			}
		})
	}
}
