package interpodaffinity

import (
	"slices"

	"github.com/stowage-scheduler/stowage/engine/intern"
	"github.com/stowage-scheduler/stowage/engine/topology"
)

// byKey gathers pods by topology key, each with a weight.
type byKey struct {
	keys    []intern.ID
	members [][]topology.Members
	weights [][]int64
}

func (b *byKey) add(key intern.ID, m topology.Members, weight int64) {
	i := slices.Index(b.keys, key)
	if i < 0 {
		i = len(b.keys)
		b.keys = append(b.keys, key)
		b.members = append(b.members, nil)
		b.weights = append(b.weights, nil)
	}
	b.members[i] = append(b.members[i], m)
	b.weights[i] = append(b.weights[i], weight)
}
