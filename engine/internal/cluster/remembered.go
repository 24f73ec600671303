package cluster

import (
	"github.com/stowage-scheduler/stowage/engine/internal/intern"
	"github.com/stowage-scheduler/stowage/engine/internal/memo"
	"github.com/stowage-scheduler/stowage/engine/internal/topology"
)

// Limits of the memos of a cluster, in bytes, per cluster and per node. A column takes 4 to 8 bytes a node, counts take 8
// bytes a domain.
const (
	remembered        = 1 << 20
	columnsRemembered = 256
	countsRemembered  = 1024
	nodesRemembered   = 16
)

type (
	columns = memo.Map[intern.ID, *topology.Column]
	counts  = memo.Map[string, []int64]
	perNode = memo.Map[string, []uint8]
)

// PerNode returns the result of compute: a number by node that follows from the resources of the nodes and the key. It
// remembers the result unless pods are assumed or evicted. The result must not be changed.
func (s *State) PerNode(key string, compute func() []uint8) []uint8 {
	if s.changed() {
		return compute()
	}
	return s.perNode.Get(key, func() ([]uint8, int64, bool) {
		v := compute()
		return v, int64(len(key) + cap(v)), true
	})
}
