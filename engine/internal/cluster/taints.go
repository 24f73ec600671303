package cluster

import (
	"encoding/binary"
	"slices"
	"strings"

	"github.com/stowage-scheduler/stowage/engine/api"
)

// Taints holds the nodes' taints by class: nodes with the same list of taints share one.
type Taints struct {
	// Class is each node's class.
	Class []int32
	// Lists are the classes' taints. Lists[0] is empty.
	Lists [][]api.Taint
}

// taintLists finds equal lists of taints.
type taintLists struct {
	lists [][]api.Taint
	class map[string]int32 // nil until a list is looked for
}

// find returns the class of a list, a new one if it is new. The list may be overwritten afterwards.
func (t *taintLists) find(list []api.Taint) int32 {
	if len(list) == 0 {
		return 0
	}
	if t.class == nil {
		t.class = make(map[string]int32, len(t.lists))
		for i, known := range t.lists {
			t.class[string(taintKey(nil, known))] = int32(i)
		}
	}
	key := taintKey(make([]byte, 0, 128), list)
	class, ok := t.class[string(key)]
	if !ok {
		class = int32(len(t.lists))
		kept := slices.Clone(list)
		for i := range kept {
			kept[i].Key, kept[i].Value = strings.Clone(kept[i].Key), strings.Clone(kept[i].Value)
		}
		t.class[string(key)] = class
		t.lists = append(t.lists, kept)
	}
	return class
}

func taintKey(key []byte, list []api.Taint) []byte {
	for _, taint := range list {
		key = append(key, byte(taint.Effect))
		key = append(binary.AppendUvarint(key, uint64(len(taint.Key))), taint.Key...)
		key = append(binary.AppendUvarint(key, uint64(len(taint.Value))), taint.Value...)
	}
	return key
}
