package kube

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

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

// Pending finds a queue entry, one that waits, or one of another scheduler, by the name of its pod or of its origin, with or without the namespace.
// Without a name, it is the only entry; pods whose node is gone do not count if there are others. If several entries have
// one origin, it is the first, and alike is their number.
func (s *Snapshot) Pending(name string) (entry Entry, alike int, err error) {
	all := slices.Concat(s.Queue, s.Waiting, s.Others)
	if fresh := slices.DeleteFunc(slices.Clone(all), func(e Entry) bool { return e.Gone != "" }); name == "" && len(fresh) > 0 {
		all = fresh
	}
	var found []Entry
	var names []string
	sameOrigin := true
	for _, e := range all {
		o, pod := e.Origin, e.Pods.Pod.Name
		names = append(names, o.Namespace+"/"+cmp.Or(pod, o.Name))
		if name == "" || slices.Contains([]string{o.Name, pod, o.Namespace + "/" + o.Name, o.Namespace + "/" + pod}, name) {
			found = append(found, e)
			sameOrigin = sameOrigin && o == found[0].Origin
		}
	}
	switch {
	case len(found) == 1 || len(found) > 1 && sameOrigin && name != "":
		return found[0], len(found), nil
	case len(all) == 0:
		return Entry{}, 0, noPending("there is no pending pod")
	case len(found) == 0:
		return Entry{}, 0, noPending(fmt.Sprintf("there is no pending pod %q, only %s", name, strings.Join(names, ", ")))
	}
	return Entry{}, 0, fmt.Errorf("there are several pending pods, name one of %s", strings.Join(names, ", "))
}

// noPending is the error of Pending for a name that no entry has.
type noPending string

func (e noPending) Error() string { return string(e) }

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
		a.Placements = append(a.Placements, &stowagev1.Placement{UnplacedCount: e.Pods.PodCount(), Message: e.Message, Unread: e.Pods.Pod.Unread})
		a.UnplacedCount += e.Pods.PodCount()
	}
}
