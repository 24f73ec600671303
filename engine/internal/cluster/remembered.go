package cluster

import (
	"slices"

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
	// limitsRemembered is for nodes without volumes, attachedRemembered for some 40 volumes of a node.
	limitsRemembered   = 64
	attachedRemembered = 4096
	reachRemembered    = 1024
	foundRemembered    = 512
)

type (
	domains = memo.Map[intern.ID, *topology.Column]
	counts  = memo.Map[string, []int64]
	perNode = memo.Map[string, []uint8]
	// attachments is what is attached to the nodes, by driver.
	attachments = memo.Map[string, *driverUse]
	// reaches are the nodes that selectors of storage objects select.
	reaches = memo.Map[any, reach]
	// founds is what searches for claims find, by the specs of the claims.
	founds = memo.Map[string, *found]
)

// PerNode returns a number by node that depends only on the resources of the node and the key. compute sets the numbers of the given
// nodes, nil for all. The numbers of the cluster are cached; nodes with assumed or evicted pods are computed again. The result must
// not be changed.
func (s *State) PerNode(key string, compute func(r *Resources, nodes []uint32, to []uint8)) []uint8 {
	all := func(r *Resources) []uint8 {
		v := make([]uint8, s.Len())
		compute(r, nil, v)
		return v
	}
	if len(s.assumed)+len(s.evicted) > s.Len()/touchedShare {
		return all(s.Resources)
	}
	v := s.perNode.Get(key, func() ([]uint8, int64, bool) {
		v := all(s.Cluster.resources)
		return v, int64(len(key) + cap(v)), true
	})
	if !s.changed() {
		return v
	}
	touched := make([]uint32, 0, len(s.assumed)+len(s.evicted))
	for i := range s.assumed {
		touched = append(touched, s.assumed[i].node)
	}
	for i := range s.evicted {
		touched = append(touched, s.evicted[i].node)
	}
	v = slices.Clone(v)
	compute(s.Resources, touched, v)
	return v
}

// touchedShare is the ratio of all nodes to changes of a state from which on it pays to compute the changed nodes alone.
const touchedShare = 4
