package answer

import (
	"slices"

	"github.com/stowage-scheduler/stowage/clients/answer/words"
	"github.com/stowage-scheduler/stowage/clients/kube"
	stowagev1 "github.com/stowage-scheduler/stowage/proto/stowage/v1"
)

// QueueMode is how pending pods are placed. The zero value follows the cluster: kube-scheduler's queue for nodes of a live cluster or a
// dump of one, in order otherwise.
type QueueMode string

// The modes.
const (
	KubeScheduler QueueMode = "kube-scheduler" // kube-scheduler's queue, which preempts and retries
	InOrder       QueueMode = "in-order"       // once, in order
)

// QueueMode returns the mode of the contract. A note says so if the queue cannot be kube-scheduler's.
func (q *Question) QueueMode() stowagev1.QueueMode {
	why := InOrderOnly(q.Snapshot)
	switch {
	case q.Queue == InOrder, q.Queue != KubeScheduler && !q.Snapshot.Live:
		return stowagev1.QueueMode_QUEUE_MODE_IN_ORDER
	case why == "":
		return stowagev1.QueueMode_QUEUE_MODE_KUBE_SCHEDULER
	}
	q.Notef("the queue is tried once, in order, and no pod is evicted, as %s", why)
	return stowagev1.QueueMode_QUEUE_MODE_IN_ORDER
}

// InOrderOnly returns why the server refuses the groups of a queue in kube-scheduler's mode; empty if it accepts them.
func InOrderOnly(snapshot *kube.Snapshot) string {
	for _, g := range snapshot.QueueGroups() {
		switch t := g.GetTopology(); {
		case g.GetMode() == stowagev1.PodGroupMode_POD_GROUP_MODE_JOINT:
			return "pod group " + g.GetName() + " is placed as a whole"
		case t.GetPolicy() == stowagev1.PodGroupTopologyPolicy_POD_GROUP_TOPOLOGY_POLICY_PREFERRED:
			return "pod group " + g.GetName() + " only prefers its topology"
		case len(t.GetKeys()) > 1:
			return "pod group " + g.GetName() + " has several topology keys"
		}
	}
	return ""
}

// PlaceRequest returns the request that places the queue.
func (q *Question) PlaceRequest(mode stowagev1.QueueMode) *stowagev1.PlaceRequest {
	request := q.Snapshot.PlaceRequest()
	request.QueueMode, request.Context.Profile = mode, q.Profile()
	request.IncludePreemption = true
	return request
}

// OtherPods returns the pods of the queue without one pod of an entry.
func OtherPods(snapshot *kube.Snapshot, of kube.Entry) []kube.Entry {
	var out []kube.Entry
	for _, e := range snapshot.Queue {
		if e.Pods != of.Pods || e.Pods.PodCount() > 1 {
			out = append(out, e)
		}
	}
	return out
}

// NoteOthers notes, once, pending pods that a question does not place before its own.
func (q *Question) NoteOthers(others []kube.Entry) {
	var names []string
	seen := map[kube.Origin]bool{}
	for _, e := range others {
		if !seen[e.Origin] {
			seen[e.Origin] = true
			names = append(names, e.Origin.Namespace+"/"+e.Origin.Name)
		}
	}
	if len(names) > 0 && !q.othersNoted {
		q.othersNoted = true
		q.Notef("other pending pods are not placed before, and do not count: %s", words.Names(names))
	}
}

// NotePending notes the pending pods, which are not placed before something.
func (q *Question) NotePending(before string) {
	var names []string
	for _, e := range slices.Concat(q.Snapshot.Queue, q.Snapshot.Waiting) {
		names = append(names, e.Origin.Namespace+"/"+e.Origin.Name)
	}
	if len(names) > 0 {
		q.Notef("pending pods are not placed before the %s, and do not count: %s", before, words.Names(names))
	}
}
