package expect

import (
	"hash/fnv"
	"slices"

	"github.com/stowage-scheduler/stowage/bench/parity/scenario"
)

// first returns the node that the contract takes among the best ones (PlaceRequest.tie_break_seed).
func first(c *scenario.Case, best []uint32) uint32 {
	if c.TieBreakSeed == 0 {
		return slices.Min(best)
	}
	node := best[0]
	rank := rankOf(c, node)
	for _, n := range best[1:] {
		if r := rankOf(c, n); r < rank || r == rank && n < node {
			node, rank = n, r
		}
	}
	return node
}

func rankOf(c *scenario.Case, node uint32) uint64 {
	h := fnv.New64a()
	h.Write([]byte(c.Nodes[node].Name))
	// One step of splitmix64, the seed being the state (https://prng.di.unimi.it/splitmix64.c).
	z := (c.TieBreakSeed ^ h.Sum64()) + 0x9e3779b97f4a7c15
	z = (z ^ z>>30) * 0xbf58476d1ce4e5b9
	z = (z ^ z>>27) * 0x94d049bb133111eb
	return z ^ z>>31
}
