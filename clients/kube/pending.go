package kube

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"google.golang.org/protobuf/proto"

	"github.com/stowage-scheduler/stowage/clients/compact"
)

// shortKinds are the short names of kinds that kubectl takes.
var shortKinds = map[string]string{
	"po": "Pod", "deploy": "Deployment", "rs": "ReplicaSet", "sts": "StatefulSet", "rc": "ReplicationController", "ds": "DaemonSet",
	"cj": "CronJob", "ro": "Rollout", "clone": "CloneSet", "lws": "LeaderWorkerSet", "vcjob": "Job",
}

// NamesKind reports whether a word is a name of a kind, as kubectl takes it: the kind itself in any case, its plural, or a short
// name, each with or without the API group.
func NamesKind(word, kind string) bool {
	word, _, _ = strings.Cut(strings.ToLower(word), ".")
	singular := strings.ToLower(kind)
	return word == singular || word == singular+"s" || shortKinds[word] == kind
}

// Pending finds pending pods by NAME, NAMESPACE/NAME, KIND/NAME or NAMESPACE/KIND/NAME, of a pod or of a workload: entries of the
// queue, those that wait, or those of another scheduler. Without a name, it is the only workload; pods whose node is gone do not
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
		return nil, noPending(fmt.Sprintf("there is no pending pod %q, only %s%s", name, arguments(objects), DidYouMean(name, slices.Values(objects))))
	case name == "":
		return nil, fmt.Errorf("there are several pending pods, name one of %s", arguments(objects))
	}
	return nil, fmt.Errorf("there are several pending pods %q, name one of %s", name, arguments(objects))
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
		return o.argument(parts)
	})
}

// argument reports whether KIND/NAME or NAMESPACE/KIND/NAME, in parts, names an object.
func (o Origin) argument(parts []string) bool {
	n := len(parts)
	return n <= 3 && o.Name == parts[n-1] && NamesKind(parts[n-2], o.Kind) && (n == 2 || o.Namespace == parts[0])
}

// maximumArguments bounds the objects that an error names.
const maximumArguments = 20

// arguments lists objects, each once, as Pending takes them.
func arguments(all []Origin) string {
	var out []string
	seen := map[Origin]bool{}
	for _, o := range all {
		if !seen[o] {
			seen[o] = true
			out = append(out, o.Argument())
		}
	}
	if more := len(out) - maximumArguments; more > 0 {
		out = append(out[:maximumArguments], fmt.Sprintf("and %d more", more))
	}
	return strings.Join(out, ", ")
}

// noPending is the error of Pending for a name that no entry has.
type noPending string

func (e noPending) Error() string { return string(e) }

// SpecOf identifies the spec of an entry's pods. Those of a DaemonSet count as one: each requires a node of its own.
func (s *Snapshot) SpecOf(e Entry) string {
	if e.Workload.Kind == "DaemonSet" {
		return ""
	}
	spec := compact.Template(s.Cluster, e.Pods.GetPod()).GetSpec()
	text, _ := proto.MarshalOptions{Deterministic: true}.Marshal(spec) // Build has marshalled it
	return string(text)
}
