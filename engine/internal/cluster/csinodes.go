package cluster

import (
	"encoding/binary"
	"slices"
	"strings"

	"github.com/stowage-scheduler/stowage/engine/api"
	"github.com/stowage-scheduler/stowage/engine/internal/nodeset"
)

// csiNodes is the CSINode of nodes: the node's own, or the CSINode of its class.
var csiNodes = &Field[*api.CSINode]{
	Of: func(class *api.NodeClass, n *api.Node) *api.CSINode {
		if n.CSINode != nil {
			return n.CSINode
		}
		return class.CSINode
	},
	Key: func(b []byte, n *api.CSINode) []byte {
		if n == nil {
			return b
		}
		b = binary.AppendUvarint(b, uint64(len(n.Drivers)))
		for i := range n.Drivers {
			d := &n.Drivers[i]
			if b = appendText(b, d.Name); d.AllocatableCount != nil {
				b = binary.AppendUvarint(append(b, 1), uint64(*d.AllocatableCount))
			} else {
				b = append(b, 0)
			}
		}
		return appendTexts(b, n.MigratedPlugins)
	},
	Clone: func(n *api.CSINode) *api.CSINode {
		if n == nil {
			return nil
		}
		out := &api.CSINode{Drivers: slices.Clone(n.Drivers), MigratedPlugins: cloneTexts(n.MigratedPlugins)}
		for i := range out.Drivers {
			d := &out.Drivers[i]
			if d.Name = strings.Clone(d.Name); d.AllocatableCount != nil {
				d.AllocatableCount = new(*d.AllocatableCount)
			}
		}
		return out
	},
	Like: func(n *api.CSINode) *api.CSINode { return n },
}

// attached is the names of the volumes that are attached to nodes.
var attached = &Field[[]string]{
	Of: func(_ *api.NodeClass, n *api.Node) []string { return n.AttachedVolumes },
	Key: func(b []byte, names []string) []byte {
		if len(names) == 0 {
			return b
		}
		return appendTexts(b, names)
	},
	Clone: cloneTexts,
	Like:  func([]string) []string { return nil },
}

func cloneTexts(list []string) []string {
	list = slices.Clone(list)
	for i := range list {
		list[i] = strings.Clone(list[i])
	}
	return list
}

// CSINodes returns the distinct CSINodes of nodes, nil for nodes without one. They must not be changed.
func (c *Cluster) CSINodes() []*api.CSINode { return Values(c, csiNodes) }

// CSINodeNumbers returns a function that returns the index of a node's CSINode in CSINodes.
func (c *Cluster) CSINodeNumbers() func(node uint32) int32 { return Numbers(c, csiNodes) }

// CSINode returns the CSINode of a node, nil if it has none. It must not be changed.
func (c *Cluster) CSINode(node uint32) *api.CSINode { return Value(c, csiNodes, node) }

// WithCSINode returns the nodes whose CSINode, which may be nil, meets a condition.
func (c *Cluster) WithCSINode(meets func(*api.CSINode) bool) nodeset.Set {
	list := c.CSINodes()
	table := make([]uint8, len(list))
	for i, n := range list {
		table[i] = flag(meets(n))
	}
	return Having(c, csiNodes, table)
}

// AttachedTo returns the names of the volumes that are attached to a node. They must not be changed.
func (c *Cluster) AttachedTo(node uint32) []string { return Value(c, attached, node) }
