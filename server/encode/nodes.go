package encode

import (
	stowagev1 "github.com/stowage-scheduler/stowage/proto/stowage/v1"
)

// Names holds the names of the cluster's nodes. nil leaves names out of the response.
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
