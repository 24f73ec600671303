package topology

import (
	"runtime"
	"slices"
	"sync/atomic"

	"github.com/stowage-scheduler/stowage/engine/internal/nodeset"
)

// dense is the number of entries for each node, in each pass over the nodes, from which on pods are counted by node first
// and then by domain.
const dense = 2

// maxTile is the maximum number of nodes counted at a time. Their counts stay in a core's cache, and an index of 16 bits
// needs no bounds check.
const maxTile = 1 << 16

type byNode = [maxTile]uint8

// atOnce is the number of members counted at a time, so that a byte holds the count of a node.
const atOnce = 255

// ones reports whether each entry counts one pod and no node occurs twice.
func (m *Members) ones() bool { return m.Counts == nil && len(m.Assumed) == 0 }

// countOnes counts members that are all ones. It reads each entry once for all columns.
func countOnes(counts [][]int64, columns []*Column, members []Members, only []nodeset.Set) {
	nodes := len(columns[0].Domain)
	if nodes == 0 || len(members) == 0 {
		return
	}
	workers := max(1, min(runtime.GOMAXPROCS(0), entries(members)/shardEntries))
	// As few tiles as possible, and equally many for each worker: each tile searches all lists of members.
	tiles := (nodes + workers*maxTile - 1) / (workers * maxTile) * workers
	tile := ((nodes+tiles-1)/tiles + 63) &^ 63 // of whole words of node sets
	var next atomic.Int64
	work := func(counts [][]int64) {
		var byNode byNode
		for {
			first := (int(next.Add(1)) - 1) * tile
			if first >= nodes {
				return
			}
			countTile(counts, columns, members, only, first, min(first+tile, nodes), &byNode)
		}
	}
	done := make(chan [][]int64, workers)
	for range workers - 1 {
		go func() {
			own := newCounts(columns)
			work(own)
			done <- own
		}()
	}
	work(counts)
	for range workers - 1 {
		for i, own := range <-done {
			for d, n := range own {
				counts[i][d] += n
			}
		}
	}
}

// countTile counts the pods on the nodes first to end-1.
func countTile(
	counts [][]int64, columns []*Column, members []Members, only []nodeset.Set, first, end int, byNode *byNode,
) {
	for some := range slices.Chunk(members, atOnce) {
		clear(byNode[:end-first])
		for j := range some {
			for _, n := range between(some[j].Nodes, uint32(first), uint32(end)) {
				byNode[uint16(n-uint32(first))]++
			}
		}
		for k, c := range columns {
			var these nodeset.Set
			if only[k] != nil {
				these = only[k][first/64 : (end+63)/64]
			}
			fold(counts[k], c.Domain[first:end], byNode, these)
		}
	}
}

// between returns the nodes from first to end-1.
func between(nodes []uint32, first, end uint32) []uint32 {
	if n := len(nodes); n > 0 && nodes[n-1] >= end {
		to, _ := slices.BinarySearch(nodes, end)
		nodes = nodes[:to]
	}
	if len(nodes) > 0 && nodes[0] < first {
		from, _ := slices.BinarySearch(nodes, first)
		nodes = nodes[from:]
	}
	return nodes
}

// fold adds the counts of a tile's nodes, or of some of them, to the counts of their domains.
func fold(counts []int64, domain []int32, byNode *byNode, only nodeset.Set) {
	if only == nil {
		for n, d := range domain {
			counts[d] += int64(byNode[uint16(n)])
		}
		return
	}
	for n := range only.All() {
		counts[domain[n]] += int64(byNode[uint16(n)])
	}
}
