package cluster

import (
	"slices"

	"github.com/stowage-scheduler/stowage/engine/api"
)

// UnschedulableTaint is the taint that the node lifecycle controller adds to cordoned nodes
// (pkg/controller/nodelifecycle/node_lifecycle_controller.go, v1.37).
var UnschedulableTaint = api.Taint{Key: "node.kubernetes.io/unschedulable", Effect: api.NoSchedule}

// Cordoned returns the cluster in which nodes are cordoned: they have spec.unschedulable, and UnschedulableTaint unless they have
// a taint with its key and effect. c stays unchanged. The clusters share everything else, with all memos, because these follow
// from labels, pods and resources alone.
func (c *Cluster) Cordoned(nodes []uint32) *Cluster {
	cordoned := *c
	cordoned.Unschedulable = c.Unschedulable.Clone()
	cordoned.Taints.Class = slices.Clone(c.Taints.Class)
	tainted := make(map[int32]int32) // classes by class before
	for _, n := range nodes {
		cordoned.Unschedulable.Add(n)
		class := c.Taints.Class[n]
		to, known := tainted[class]
		if !known {
			to = cordoned.Taints.cordoned(class)
			tainted[class] = to
		}
		cordoned.Taints.Class[n] = to
	}
	return &cordoned
}

// cordoned returns the class of the cordoned nodes of a class. It adds a missing one.
func (t *Taints) cordoned(class int32) int32 {
	list := t.Lists[class]
	if slices.ContainsFunc(list, func(has api.Taint) bool {
		return has.Key == UnschedulableTaint.Key && has.Effect == UnschedulableTaint.Effect
	}) {
		return class
	}
	list = append(slices.Clip(list), UnschedulableTaint)
	if i := slices.IndexFunc(t.Lists, func(other []api.Taint) bool { return slices.Equal(list, other) }); i >= 0 {
		return int32(i)
	}
	t.Lists = append(slices.Clip(t.Lists), list)
	return int32(len(t.Lists)) - 1
}

// Cordon cordons nodes for the state, and returns the cluster that Uncordon takes back. Decisions that were compiled before do
// not know of it.
func (s *State) Cordon(nodes []uint32) (before *Cluster) {
	before = s.Cluster
	s.Cluster = before.Cordoned(nodes)
	return before
}

// Uncordon takes back what a call of Cordon did.
func (s *State) Uncordon(before *Cluster) { s.Cluster = before }
