package decode

import (
	"encoding/binary"
	"slices"
	"strings"

	"github.com/stowage-scheduler/stowage/engine/api"
)

type rawLabel struct {
	api.Label
	field []byte // with tag and length
}

// insertAtMost is up to how many labels it takes less to put each in its place than to call a function to compare two.
const insertAtMost = 24

// sortLabels sorts labels by key and reports whether they were, and whether the keys are unique.
func sortLabels(labels []rawLabel) (inOrder, unique bool) {
	inOrder = true
	for i := 1; i < len(labels) && inOrder; i++ {
		inOrder = labels[i-1].Key < labels[i].Key
	}
	if inOrder {
		return true, true
	}
	if len(labels) <= insertAtMost {
		insertLabels(labels)
	} else {
		slices.SortFunc(labels, func(a, b rawLabel) int { return strings.Compare(a.Key, b.Key) })
	}
	for i := 1; i < len(labels); i++ {
		if labels[i].Key == labels[i-1].Key {
			return false, false
		}
	}
	return false, true
}

// insertLabels puts one label after the other in its place among those before it.
func insertLabels(labels []rawLabel) {
	var starts [insertAtMost]uint64 // of keys, which mostly tell which comes first
	for i := range labels {
		var start [8]byte
		copy(start[:], labels[i].Key)
		starts[i] = binary.BigEndian.Uint64(start[:])
	}
	for i := 1; i < len(labels); i++ {
		l, start, at := labels[i], starts[i], i
		for ; at > 0 && (start < starts[at-1] || start == starts[at-1] && l.Key < labels[at-1].Key); at-- {
			labels[at], starts[at] = labels[at-1], starts[at-1]
		}
		labels[at], starts[at] = l, start
	}
}

func (c *chunk) takeLabels(labels []rawLabel) api.Labels {
	if len(labels) == 0 {
		return nil
	}
	from := len(c.labels)
	for i := range labels {
		c.labels = append(c.labels, labels[i].Label)
	}
	return c.labels[from:]
}
