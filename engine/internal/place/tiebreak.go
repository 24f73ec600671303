package place

import (
	"cmp"
	"slices"
)

// TieBreak returns a number per node. Ties between equally good nodes go to the lowest number, then to the lowest
// index. nil stands for equal numbers.
func TieBreak(names []string, seed uint64) []uint64 {
	if seed == 0 {
		return nil
	}
	order := make([]uint64, len(names))
	for i, name := range names {
		order[i] = splitmix64(seed ^ fnv1a(name))
	}
	return order
}

func fnv1a(s string) uint64 {
	h := uint64(14695981039346656037)
	for i := range len(s) {
		h = (h ^ uint64(s[i])) * 1099511628211
	}
	return h
}

func splitmix64(x uint64) uint64 {
	x += 0x9e3779b97f4a7c15
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}

// Preference returns the nodes in tie-break order.
func Preference(names []string, seed uint64) []uint32 {
	nodes := make([]uint32, len(names))
	for i := range nodes {
		nodes[i] = uint32(i)
	}
	if order := TieBreak(names, seed); order != nil {
		slices.SortStableFunc(nodes, func(a, b uint32) int { return cmp.Compare(order[a], order[b]) })
	}
	return nodes
}
