package cluster

import (
	"slices"
	"strings"

	"github.com/stowage-scheduler/stowage/engine/api"
	"github.com/stowage-scheduler/stowage/engine/internal/nodeset"
	"github.com/stowage-scheduler/stowage/engine/nodestate"
)

// taints is the taint lists of nodes: taints of the class, then the node's own.
var taints = &Field[[]api.Taint]{
	Of: func(class *api.NodeClass, n *api.Node) []api.Taint {
		switch {
		case len(class.Taints) == 0:
			return n.Taints
		case len(n.Taints) == 0:
			return class.Taints
		}
		return slices.Concat(class.Taints, n.Taints)
	},
	Key: func(b []byte, list []api.Taint) []byte {
		for _, taint := range list {
			b = append(b, byte(taint.Effect))
			b = appendText(appendText(b, taint.Key), taint.Value)
		}
		return b
	},
	Clone: func(list []api.Taint) []api.Taint {
		list = slices.Clone(list)
		for i := range list {
			list[i].Key, list[i].Value = strings.Clone(list[i].Key), strings.Clone(list[i].Value)
		}
		return list
	},
	Like: WithoutStates,
}

// WithoutStates returns the taints that are no states of a node.
func WithoutStates(taints []api.Taint) []api.Taint {
	isState := func(t api.Taint) bool { return nodestate.Has(t.Key) }
	if !slices.ContainsFunc(taints, isState) {
		return taints
	}
	return slices.DeleteFunc(slices.Clone(taints), isState)
}

// TaintLists returns the distinct lists of taints of nodes. They must not be changed.
func (c *Cluster) TaintLists() [][]api.Taint { return Values(c, taints) }

// TaintNumbers returns a function that returns the index of a node's list in TaintLists.
func (c *Cluster) TaintNumbers() func(node uint32) int32 { return Numbers(c, taints) }

// TaintsOf returns the taints of a node. They must not be changed.
func (c *Cluster) TaintsOf(node uint32) []api.Taint { return Value(c, taints, node) }

// Tainted returns the nodes for the index of whose list of taints the table has 1; its other entries must be 0.
func (c *Cluster) Tainted(table []uint8) nodeset.Set { return Having(c, taints, table) }

// ownTaints makes the column of taints the cluster's own, so that it may be changed.
func (c *Cluster) ownTaints() *values[[]api.Taint] {
	c.fields = slices.Clone(c.fields)
	for i, f := range c.fields {
		if v, ok := f.(*values[[]api.Taint]); ok && v.of == taints {
			c.fields[i] = v.derive()
		}
	}
	return valuesOf(c, taints)
}
