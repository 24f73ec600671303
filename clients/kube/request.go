package kube

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	stowagev1 "github.com/stowage-scheduler/stowage/proto/stowage/v1"
)

// PlaceRequest asks where the whole queue goes. Its answer names nodes.
func (s *Snapshot) PlaceRequest() *stowagev1.PlaceRequest {
	r := &stowagev1.PlaceRequest{Cluster: s.Cluster, PodGroups: s.PodGroups, IncludeNodeNames: true}
	for _, e := range s.Queue {
		r.Queue = append(r.Queue, e.Pods)
	}
	return r
}

// Pending finds the queue entry to ask about: the only one, or by the name of its pod or of the object that it comes
// from, with or without the namespace. Of several that come from one object, it is the first; alike is how many.
func (s *Snapshot) Pending(name string) (entry Entry, alike int, err error) {
	var found []Entry
	var names []string
	sameOrigin := true
	for _, e := range s.Queue {
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
	case len(s.Queue) == 0:
		return Entry{}, 0, errors.New("there is no pending pod")
	case len(found) == 0:
		return Entry{}, 0, fmt.Errorf("there is no pending pod %q, only %s", name, strings.Join(names, ", "))
	}
	return Entry{}, 0, fmt.Errorf("there are several pending pods, name one of %s", strings.Join(names, ", "))
}
