package cluster

import (
	"encoding/binary"
	"slices"
	"strings"

	"github.com/stowage-scheduler/stowage/engine/api"
)

// Taints holds the nodes' taints by class. Nodes of a class have equal lists of taints.
type Taints struct {
	// Class is each node's class.
	Class []int32
	// Lists are the classes' taints. Lists[0] is empty.
	Lists [][]api.Taint
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
