package cli

import (
	"slices"

	"google.golang.org/protobuf/proto"

	"github.com/stowage-scheduler/stowage/clients/answer/words"
	"github.com/stowage-scheduler/stowage/clients/kube"
	"github.com/stowage-scheduler/stowage/clients/quote"
	"github.com/stowage-scheduler/stowage/clients/result"

	stowagev1 "github.com/stowage-scheduler/stowage/proto/stowage/v1"
)

// placeRequest is the question where the queue goes.
func (a *asked) placeRequest(mode stowagev1.QueueMode) *stowagev1.PlaceRequest {
	request := a.snapshot.PlaceRequest()
	request.QueueMode, request.Context.Profile = mode, a.scheduler.Profile
	request.IncludePreemption = true
	return request
}

// after says what becomes of pods that have a feasible node once the queue is placed as place does it; nil if no other pod is
// pending. Of other pods it only tells that those are not placed before. request is that of an error.
func (q *question) after(a *asked, of []kube.Entry, feasible bool) (out *words.After, request proto.Message, err error) {
	others := otherPods(a.snapshot, of[0])
	queued := slices.ContainsFunc(a.snapshot.Queue, func(e kube.Entry) bool { return e.Pods == of[0].Pods })
	if !feasible && queued && len(others) > 0 {
		if out, request, err = q.later(a, of); out != nil || err != nil {
			return out, request, err
		}
	}
	if !feasible || !queued {
		a.tellOthers(others)
		return nil, nil, nil
	}
	if len(others) == 0 {
		return nil, nil, nil
	}
	place := a.placeRequest(a.queueMode("auto"))
	if a.placed == nil {
		if a.placed, err = a.Place(a.ctx, place); err != nil {
			return nil, place, err
		}
	}
	if out = fate(a.snapshot, of, a.placed); out.String() == "" {
		return out, nil, nil
	}
	if !a.explained { // which costs more, and the answer is the same otherwise
		place.Explain, place.IncludeChanges = true, true
		if a.placed, err = a.Place(a.ctx, place); err != nil {
			return nil, place, err
		}
		a.explained = true
		out = fate(a.snapshot, of, a.placed)
	}
	if q.Output == asName || q.Output == asSVG {
		quote.Fprintf(a.stderr, "stowage: %s\n", out)
	}
	return out, nil, nil
}

// later says that pods without a feasible node have one once others are placed, without evictions; nil if they do not.
func (q *question) later(a *asked, of []kube.Entry) (out *words.After, request proto.Message, err error) {
	mode := stowagev1.QueueMode_QUEUE_MODE_IN_ORDER
	if inOrderOnly(a.snapshot) == "" {
		mode = stowagev1.QueueMode_QUEUE_MODE_KUBE_SCHEDULER
	}
	if a.later == nil {
		place := a.placeRequest(mode)
		place.IncludePreemption = false
		if a.later, err = a.Place(a.ctx, place); err != nil {
			return nil, place, err
		}
	}
	out = fate(a.snapshot, of, a.later)
	if out.Pods == 0 || out.Unplaced > 0 || len(a.later.GetEvictions()) > 0 {
		return nil, nil, nil
	}
	for i, p := range a.later.GetPlacements() {
		if slices.ContainsFunc(of, func(e kube.Entry) bool { return e.Pods == a.snapshot.Queue[i].Pods }) {
			out.Nodes = append(out.Nodes, p.GetNodes().GetNames()...)
		}
	}
	return out, nil, nil
}

// fate is what becomes of pods in the answer about the queue.
func fate(snapshot *kube.Snapshot, of []kube.Entry, answer *stowagev1.PlaceResponse) *words.After {
	asked := map[*stowagev1.PendingPods]bool{}
	for _, e := range of {
		asked[e.Pods] = true
	}
	out := &words.After{}
	for i, p := range answer.GetPlacements() {
		if !asked[snapshot.Queue[i].Pods] {
			continue
		}
		out.Pods += snapshot.Queue[i].Pods.PodCount()
		out.Unplaced += p.GetUnplacedCount() + p.GetEvictedCount()
		switch {
		case out.Message != "":
		case p.GetUnplacedCount() > 0:
			out.Message, out.First = p.GetMessage(), p
		case p.GetEvictedCount() > 0:
			out.Message = result.Evicted
		}
	}
	return out
}

// otherPods returns the pods of the queue without one pod of an entry.
func otherPods(snapshot *kube.Snapshot, of kube.Entry) []kube.Entry {
	var out []kube.Entry
	for _, e := range snapshot.Queue {
		if e.Pods != of.Pods || e.Pods.PodCount() > 1 {
			out = append(out, e)
		}
	}
	return out
}

// tellOthers lists pending pods that do not count, once.
func (a *asked) tellOthers(others []kube.Entry) {
	if len(others) == 0 || a.told {
		return
	}
	a.told = true
	var of []kube.Origin
	seen := map[kube.Origin]bool{}
	for _, e := range others {
		if !seen[e.Origin] {
			seen[e.Origin] = true
			of = append(of, e.Origin)
		}
	}
	quote.Fprintf(a.stderr, "stowage: other pending pods are not placed before, and do not count: %s\n", names(of))
}
