package engine

import (
	"github.com/stowage-scheduler/stowage/engine/internal/cluster"
	"github.com/stowage-scheduler/stowage/engine/internal/nodeset"
)

// Memory is memory for the long lists of an answer, which are most of what a call allocates. A call with it returns lists that are
// valid until the next call gets it. Calls must not share it at the same time.
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
