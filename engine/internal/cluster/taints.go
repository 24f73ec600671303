package cluster

import (
	"encoding/binary"
	"slices"
	"strings"

	"github.com/stowage-scheduler/stowage/engine/api"
	"github.com/stowage-scheduler/stowage/engine/internal/nodeset"
)

// TaintLists returns the distinct lists of taints of nodes. They must not be changed.
func (c *Cluster) TaintLists() [][]api.Taint { return c.taints }

// TaintList returns the index of a node's list in TaintLists.
func (c *Cluster) TaintList(node uint32) int32 { return *c.taint.at(node) }

// TaintsOf returns the taints of a node. They must not be changed.
func (c *Cluster) TaintsOf(node uint32) []api.Taint { return c.taints[c.TaintList(node)] }

// Tainted returns the nodes for whose list of taints the table has 1; its other entries must be 0.
func (c *Cluster) Tainted(table []uint8) nodeset.Set {
	nodes := make(nodeset.Set, len(c.taint.pages))
	for i, p := range c.taint.pages {
		var word uint64
		for at, list := range p {
			word |= uint64(table[list]) << (at % PageNodes)
		}
		nodes[i] = word
	}
	return nodes.Cut(c.Len())
}

func cloneTaints(list []api.Taint) []api.Taint {
	list = slices.Clone(list)
	for i := range list {
		list[i].Key, list[i].Value = strings.Clone(list[i].Key), strings.Clone(list[i].Value)
	}
	return list
}

func taintKey(key []byte, list []api.Taint) []byte {
	for _, taint := range list {
		key = append(key, byte(taint.Effect))
		key = append(binary.AppendUvarint(key, uint64(len(taint.Key))), taint.Key...)
		key = append(binary.AppendUvarint(key, uint64(len(taint.Value))), taint.Value...)
	}
	return key
}
