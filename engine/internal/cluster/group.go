package cluster

import (
	"slices"

	"github.com/stowage-scheduler/stowage/engine/internal/intern"
	"github.com/stowage-scheduler/stowage/engine/internal/topology"
)

// Group is the pods of one shape and where they are.
type Group struct {
	*Shape
	// Members are the pods' nodes, Members.Nodes in ascending order. Only a State has Assumed ones.
	topology.Members
	// Template is the index of the template that the pods were stated by, -1 if none.
	Template int

	id intern.ID // of shape and template
}

// On returns how many of the group's pods were on a node before the request placed any.
func (g *Group) On(node uint32) int {
	if i, ok := slices.BinarySearch(g.Nodes, node); ok {
		return g.Count(i)
	}
	return 0
}

// setCount sets how many pods there are on Nodes[i].
func (g *Group) setCount(i int, count int32) {
	if g.Counts == nil {
		g.Counts = g.AllCounts()
	}
	g.Counts[i] = count
}

// Has reports whether the group has pods on a node.
func (g *Group) Has(node uint32) bool { return g.On(node) > 0 || slices.Contains(g.Assumed, node) }

// NamedPod is a pod on a node that was stated one by one.
type NamedPod struct {
	Name  string
	Group int32
	load  int32 // place in Cluster.loads, or asTemplate
}
