package explain

import (
	"context"
	"slices"

	"github.com/stowage-scheduler/stowage/clients/answer"
	"github.com/stowage-scheduler/stowage/clients/answer/words"
	"github.com/stowage-scheduler/stowage/clients/kube"
	stowagev1 "github.com/stowage-scheduler/stowage/proto/stowage/v1"
)

// after decides the fate of pods once the queue is placed; nil if no other pod is pending, or if the pods have no feasible node
// alone and none after the others. A note says so where other pending pods do not count.
func (a *asker) after(ctx context.Context, of []kube.Entry, feasible bool) (out *words.After, err error) {
	others := answer.OtherPods(a.Snapshot, of[0])
	queued := slices.ContainsFunc(a.Snapshot.Queue, func(e kube.Entry) bool { return e.Pods == of[0].Pods })
	if !feasible && queued && len(others) > 0 {
		if out, err = a.withRetries(ctx, of); out != nil || err != nil {
			return out, err
		}
	}
	if !feasible || !queued {
		a.NoteOthers(others)
		return nil, nil
	}
	if len(others) == 0 {
		return nil, nil
	}
	place := a.PlaceRequest(a.QueueMode())
	if a.placed == nil {
		if a.placed, err = a.Client.Place(ctx, place); err != nil {
			return nil, answer.Refused(place, err)
		}
	}
	if out = fate(a.Snapshot, of, a.placed); out.String() == "" {
		return out, nil
	}
	if !a.explained { // explanations take time, and the placements are the same
		place.Explain, place.IncludeChanges = true, true
		if a.placed, err = a.Client.Place(ctx, place); err != nil {
			return nil, answer.Refused(place, err)
		}
		a.explained = true
		out = fate(a.Snapshot, of, a.placed)
	}
	return out, nil
}

// withRetries decides whether pods without a feasible node have one once others are placed, without evictions; nil if they have none.
func (a *asker) withRetries(ctx context.Context, of []kube.Entry) (out *words.After, err error) {
	mode := stowagev1.QueueMode_QUEUE_MODE_IN_ORDER
	if answer.InOrderOnly(a.Snapshot) == "" {
		mode = stowagev1.QueueMode_QUEUE_MODE_KUBE_SCHEDULER
	}
	if a.retried == nil {
		place := a.PlaceRequest(mode)
		place.IncludePreemption = false
		if a.retried, err = a.Client.Place(ctx, place); err != nil {
			return nil, answer.Refused(place, err)
		}
	}
	out = fate(a.Snapshot, of, a.retried)
	if out.Pods == 0 || out.Unplaced > 0 || len(a.retried.GetEvictions()) > 0 {
		return nil, nil
	}
	for i, p := range a.retried.GetPlacements() {
		if slices.ContainsFunc(of, func(e kube.Entry) bool { return e.Pods == a.Snapshot.Queue[i].Pods }) {
			out.Nodes = append(out.Nodes, p.GetNodes().GetNames()...)
		}
	}
	return out, nil
}

// fate is the result for pods in the answer about the queue.
func fate(snapshot *kube.Snapshot, of []kube.Entry, response *stowagev1.PlaceResponse) *words.After {
	among := map[*stowagev1.PendingPods]bool{}
	for _, e := range of {
		among[e.Pods] = true
	}
	out := &words.After{}
	for i, p := range response.GetPlacements() {
		if !among[snapshot.Queue[i].Pods] {
			continue
		}
		out.Pods += snapshot.Queue[i].Pods.PodCount()
		out.Unplaced += p.GetUnplacedCount() + p.GetEvictedCount()
		switch {
		case out.Message != "":
		case p.GetUnplacedCount() > 0:
			out.Message, out.First = p.GetMessage(), p
		case p.GetEvictedCount() > 0:
			out.Message = answer.Evicted
		}
	}
	return out
}
