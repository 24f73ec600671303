package tiebreak_test

import (
	"cmp"
	"fmt"
	"slices"
	"testing"

	"github.com/stowage-scheduler/stowage/engine/internal/tiebreak"
)

// TestRanks compares ranks with the rule, and finds the node of each rank.
func TestRanks(t *testing.T) {
	for _, size := range []int{1, 2, 3, 12, 16, 17, 1000} {
		names := make([]string, size)
		for i := range names {
			names[i] = fmt.Sprint("node-", i)
		}
		for seed := range uint64(3) {
			plain := tiebreak.New(names, seed, false).Nodes()
			for _, fewest := range []bool{false, true} {
				order := tiebreak.New(names, seed, fewest)
				pods := make([]int64, size)
				for i := range pods {
					pods[i] = []int64{0, 1, 2, 7, 110, 4094, 4095, 4096, 1 << 40, -1}[(i*7+int(seed))%10]
				}
				podsOn := func(n uint32) int64 { return pods[n] }
				ranks := order.Ranks(podsOn)
				byRank, byRule := slices.Clone(plain), slices.Clone(plain)
				slices.SortFunc(byRank, func(a, b uint32) int { return cmp.Compare(ranks.Of(a), ranks.Of(b)) })
				if fewest {
					counted := func(n uint32) int { return int(min(max(pods[n], 0), tiebreak.MaxPods)) }
					slices.SortFunc(byRule, func(a, b uint32) int {
						x, y := slices.Index(plain, a)^counted(a), slices.Index(plain, b)^counted(b)
						return cmp.Or(cmp.Compare(counted(a), counted(b)), cmp.Compare(x, y))
					})
				}
				if !slices.Equal(byRank, byRule) {
					t.Errorf("%d nodes, seed %d, fewest %t: %v, want %v", size, seed, fewest, byRank, byRule)
				}
				if best := order.Best(slices.Sorted(slices.Values(plain)), podsOn); best != byRule[0] {
					t.Errorf("%d nodes, seed %d, fewest %t: the best is %d, want %d", size, seed, fewest, best, byRule[0])
				}
				for n := range uint32(size) {
					was := ranks.Of(n)
					if ranks.Node(was) != n {
						t.Fatalf("%d nodes, seed %d, fewest %t: node %d has rank %d, which is that of %d", size, seed, fewest, n, was, ranks.Node(was))
					}
					pods[n]++
					if now := ranks.Of(n); now < was {
						t.Fatalf("%d nodes, seed %d: the rank of node %d fell from %d to %d", size, seed, n, was, now)
					}
				}
			}
		}
	}
}

// TestNodesOnce lists the nodes once, with and without a seed: searches ask for them again and again.
func TestNodesOnce(t *testing.T) {
	for seed := range uint64(2) {
		order := tiebreak.New([]string{"a", "b", "c"}, seed, false)
		if first, again := order.Nodes(), order.Nodes(); &first[0] != &again[0] {
			t.Errorf("seed %d: another list", seed)
		}
	}
}

// TestManyNodes has as many nodes as the contract allows: ranks are still different.
func TestManyNodes(t *testing.T) {
	const size = 1_000_000
	order := tiebreak.New(make([]string, size), 0, true)
	ranks := order.Ranks(func(n uint32) int64 { return int64(n % 5000) })
	for n := range uint32(size) {
		if got := ranks.Node(ranks.Of(n)); got != n {
			t.Fatalf("the rank of node %d is that of %d", n, got)
		}
	}
}
