package encode

import (
	stowagev1 "github.com/stowage-scheduler/stowage/proto/stowage/v1"
)

// Names are the nodes' names, which lists of nodes give beside the indexes; nil for indexes alone.
type Names []string

func (n Names) list(indexes []uint32) *stowagev1.NodeList {
	l := &stowagev1.NodeList{Indexes: indexes}
	if n != nil {
		l.Names = make([]string, len(indexes))
		for i, node := range indexes {
			l.Names[i] = n[node]
		}
	}
	return l
}
