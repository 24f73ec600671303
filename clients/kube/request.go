package kube

import (
	stowagev1 "github.com/stowage-scheduler/stowage/proto/stowage/v1"
)

// context returns the context of a request whose response names nodes.
func (s *Snapshot) context() *stowagev1.DecisionContext {
	return &stowagev1.DecisionContext{Base: &stowagev1.DecisionContext_Cluster{Cluster: s.Cluster}, IncludeNodeNames: true}
}

// PlaceRequest returns a request to place the whole queue. Its response names nodes.
func (s *Snapshot) PlaceRequest() *stowagev1.PlaceRequest {
	r := &stowagev1.PlaceRequest{Context: s.context(), PodGroups: s.PodGroups}
	for _, e := range s.Queue {
		r.Queue = append(r.Queue, e.Pods)
	}
	return r
}

// Entry returns an entry of the queue or, with an index beyond its end, one that waits. The placements of a Complete
// response have these indexes.
func (s *Snapshot) Entry(i int) Entry {
	if i < len(s.Queue) {
		return s.Queue[i]
	}
	return s.Waiting[i-len(s.Queue)]
}

// Complete adds the entries that wait to a response, as pods without a node.
func (s *Snapshot) Complete(a *stowagev1.PlaceResponse) {
	for _, e := range s.Waiting {
		a.Doubts = append(a.Doubts, UnreadDoubts(e.Pods.Pod.Unread, uint32(len(a.Placements)))...)
		a.Placements = append(a.Placements, &stowagev1.Placement{UnplacedCount: e.Pods.PodCount(), Message: e.Message})
		a.UnplacedCount += e.Pods.PodCount()
	}
}

// UnreadDoubts returns the doubts about unread fields of an entry of the queue that was not sent to a server.
func UnreadDoubts(fields []*stowagev1.UnreadField, entry uint32) []*stowagev1.Doubt {
	var out []*stowagev1.Doubt
	for _, u := range fields {
		out = append(out, &stowagev1.Doubt{
			Kind:   stowagev1.DoubtKind_DOUBT_KIND_UNREAD_FIELD,
			Pod:    &stowagev1.PodReference{Count: 1, Origin: &stowagev1.PodReference_QueueIndex{QueueIndex: entry}},
			Unread: u,
		})
	}
	return out
}
