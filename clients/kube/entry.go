package kube

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"google.golang.org/protobuf/proto"
	corev1 "k8s.io/api/core/v1"

	"github.com/stowage-scheduler/stowage/clients/kube/compact"
	"github.com/stowage-scheduler/stowage/clients/kube/object"
	stowagev1 "github.com/stowage-scheduler/stowage/proto/stowage/v1"
)

// Origin is the name of the object of a queue entry.
type Origin = object.Origin

// Entry is a queue entry and its origin. Its pod refers to the snapshot's templates.
type Entry struct {
	Pods   *stowagev1.PendingPods
	Origin Origin
	// Workload is the object that Snapshot.WorkloadOf returns for the pods: the origin itself if that is a workload.
	Workload Origin
	// Gone is the pod's former node, which is not in the cluster.
	Gone string
	// SchedulerName, of an entry of Others, is the name of its scheduler.
	SchedulerName string
	// Message, of an entry of Waiting, is why kube-scheduler does not queue its pods, or why they do not convert.
	Message string
	// Misread is why the entry's object does not convert. Its pod then has no template.
	Misread *Misread

	object *corev1.Pod
	owners []Origin // as Snapshot.Owners
}

// Object returns a pod of an entry as an object, nil if its object does not convert. It must not be changed. Pods of a workload
// that does not exist yet share one name.
func (e *Entry) Object() *corev1.Pod { return e.object }

// SameOwner reports whether pods of another entry have the same controller.
func (e *Entry) SameOwner(as *Entry) bool {
	return len(e.owners) > 1 && len(as.owners) > 1 && e.owners[1] == as.owners[1]
}

// Of reports whether an entry's pods are, or are created by, an object that match accepts.
func (e *Entry) Of(match func(Origin) bool) bool {
	return match(e.Origin) || match(e.Workload) || slices.ContainsFunc(e.owners, match)
}

// Pending finds pending pods by NAME, NAMESPACE/NAME, KIND/NAME or NAMESPACE/KIND/NAME, of a pod or of a workload: entries of the
// queue, waiting entries, or entries of another scheduler. Without a name, it is the only workload; pods whose node is gone do not
// count if there are others. It returns all entries of one object, at least one.
func (s *Snapshot) Pending(name string) ([]Entry, error) {
	all := slices.Concat(s.Queue, s.Waiting, s.Others)
	if fresh := slices.DeleteFunc(slices.Clone(all), func(e Entry) bool { return e.Gone != "" }); name == "" && len(fresh) > 0 {
		all = fresh
	}
	var found []Entry
	var objects []Origin
	for _, e := range all {
		if o, ok := e.named(name); ok {
			found, objects = append(found, e), append(objects, o)
		}
	}
	of := slices.Compact(slices.Clone(objects))
	switch {
	case len(of) == 1:
		return found, nil
	case len(all) == 0:
		return nil, noPending("there is no pending pod")
	case len(found) == 0:
		for _, e := range all {
			objects = append(objects, e.Workload)
		}
		return nil, noPending(fmt.Sprintf("there is no pending pod %q, only %s%s", name, object.Arguments(objects), object.DidYouMean(name, slices.Values(objects))))
	case name == "":
		return nil, AmbiguousError("there are several pending pods, name one of " + object.Arguments(objects))
	}
	return nil, AmbiguousError(fmt.Sprintf("there are several pending pods %q, name one of %s", name, object.Arguments(objects)))
}

// named returns the object by whose name an entry is found.
func (e *Entry) named(name string) (found Origin, ok bool) {
	pod := Origin{Kind: "Pod", Namespace: e.Origin.Namespace, Name: cmp.Or(e.Pods.GetPod().GetName(), e.Origin.Name)}
	parts := strings.Split(name, "/")
	switch last := parts[len(parts)-1]; {
	case name == "":
		return e.Workload, true
	case len(parts) == 1 || len(parts) == 2 && parts[0] == e.Origin.Namespace:
		for _, o := range []Origin{e.Origin, pod} {
			if o.Name == last {
				return o, true
			}
		}
	}
	return found, len(parts) > 1 && e.Of(func(o Origin) bool {
		found = o
		return o.Named(parts)
	})
}

// noPending is the error of Pending for a name that no entry has.
type noPending string

func (e noPending) Error() string { return string(e) }

// AmbiguousError is the error of Pending for a name that the pods of several objects have.
type AmbiguousError string

func (e AmbiguousError) Error() string { return string(e) }

// SpecOf identifies the spec of an entry's pods. The pods of a DaemonSet have one: each requires a node of its own.
func (s *Snapshot) SpecOf(e Entry) string {
	if e.Workload.Kind == "DaemonSet" {
		return ""
	}
	spec := compact.Template(s.Cluster, e.Pods.GetPod()).GetSpec()
	text, _ := proto.MarshalOptions{Deterministic: true}.Marshal(spec) // Build has marshalled it
	return string(text)
}
