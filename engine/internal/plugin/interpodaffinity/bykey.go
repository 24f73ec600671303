package interpodaffinity

import (
	"slices"

	"github.com/stowage-scheduler/stowage/engine/internal/cluster"
	"github.com/stowage-scheduler/stowage/engine/internal/intern"
	"github.com/stowage-scheduler/stowage/engine/internal/topology"
)

// byKey adds up weights of pods by domain of several topology keys.
type byKey struct {
	state   *cluster.State
	keys    []intern.ID
	columns []*topology.Column
	counts  [][]int64
	// touched reports whether any pod was on a node with its key.
	touched bool
}

func (b *byKey) add(key intern.ID, m topology.Members, weight int64) {
	i := b.index(key)
	if topology.Add(b.counts[i], b.columns[i], m, weight) {
		b.touched = true
	}
}

// index returns the index of a key. It adds a missing one.
func (b *byKey) index(key intern.ID) int {
	i := slices.Index(b.keys, key)
	if i < 0 {
		i = len(b.keys)
		column := b.state.Column(key)
		b.keys = append(b.keys, key)
		b.columns = append(b.columns, column)
		b.counts = append(b.counts, make([]int64, column.Len()))
	}
	return i
}
