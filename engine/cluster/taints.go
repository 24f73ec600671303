package cluster

import (
	"encoding/binary"

	"github.com/stowage-scheduler/stowage/engine/api"
)

// Taints holds the nodes' taints by class: nodes with the same list of taints share one.
type Taints struct {
	// Class is each node's class.
	Class []int32
	// Lists are the classes' taints. Lists[0] is empty.
	Lists [][]api.Taint
}

func compileTaints(nodes []api.Node) Taints {
	t := Taints{Class: make([]int32, len(nodes)), Lists: make([][]api.Taint, 1)}
	classes := make(map[string]int32)
	var key []byte
	for i := range nodes {
		if len(nodes[i].Taints) == 0 {
			continue
		}
		key = key[:0]
		for _, taint := range nodes[i].Taints {
			key = append(key, byte(taint.Effect))
			key = append(binary.AppendUvarint(key, uint64(len(taint.Key))), taint.Key...)
			key = append(binary.AppendUvarint(key, uint64(len(taint.Value))), taint.Value...)
		}
		class, ok := classes[string(key)]
		if !ok {
			class = int32(len(t.Lists))
			classes[string(key)] = class
			t.Lists = append(t.Lists, append([]api.Taint(nil), nodes[i].Taints...))
		}
		t.Class[i] = class
	}
	return t
}
