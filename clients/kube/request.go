package kube

import (
	"fmt"
	"strings"

	stowagev1 "github.com/stowage-scheduler/stowage/proto/stowage/v1"
)

// PlaceRequest asks where the whole queue goes. Its answer names nodes.
func (s *Snapshot) PlaceRequest() *stowagev1.PlaceRequest {
	r := &stowagev1.PlaceRequest{Cluster: s.Cluster, IncludeNodeNames: true}
	for _, e := range s.Queue {
		r.Queue = append(r.Queue, e.Pods)
	}
	return r
}

// Pending finds the queue entry to ask about: the only one, or by the name of its pod or of the object that it comes
// from.
func (s *Snapshot) Pending(name string) (Entry, error) {
	var found []Entry
	for _, e := range s.Queue {
		if name == "" || name == e.Origin.Name || name == e.Pods.Pod.Name {
			found = append(found, e)
		}
	}
	if len(found) == 1 {
		return found[0], nil
	}
	var names []string
	for _, e := range s.Queue {
		names = append(names, e.Pods.Pod.Name)
	}
	switch {
	case len(s.Queue) == 0:
		return Entry{}, fmt.Errorf("there is no pending pod")
	case len(found) == 0:
		return Entry{}, fmt.Errorf("there is no pending pod %q, only %s", name, strings.Join(names, ", "))
	}
	return Entry{}, fmt.Errorf("there are several pending pods, name one of %s", strings.Join(names, ", "))
}
