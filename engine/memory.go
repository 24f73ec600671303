package engine

import (
	"github.com/stowage-scheduler/stowage/engine/internal/cluster"
	"github.com/stowage-scheduler/stowage/engine/internal/nodeset"
)

// Memory is reusable memory for the long lists of an answer, which are most of a call's allocations. The lists of a call are valid
// until the next call with the same Memory. Concurrent calls must not share it.
type Memory struct {
	nodes          []uint32
	totals, scores []int64
}

// Bytes returns the size of the memory.
func (m *Memory) Bytes() int64 {
	return 4*int64(cap(m.nodes)) + 8*int64(cap(m.totals)+cap(m.scores))
}

// indexes returns the nodes of a set, nil for none.
func (m *Memory) indexes(of nodeset.Set) []uint32 {
	if m == nil {
		return of.Indexes()
	}
	if m.nodes = of.AppendIndexes(m.nodes[:0]); len(m.nodes) == 0 {
		return nil
	}
	return m.nodes
}

// lend returns memory for the totals, and lets the plugins score in the memory of the last call.
func (m *Memory) lend(to *cluster.State) (totals []int64) {
	if m == nil {
		return nil
	}
	to.Scores = m.scores
	return m.totals
}

// take takes back what lend has lent.
func (m *Memory) take(from *cluster.State, totals []int64) {
	if m != nil {
		m.scores, m.totals = from.Scores, totals
	}
}
