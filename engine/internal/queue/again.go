package queue

import (
	"cmp"
	"math"
	"slices"

	"github.com/stowage-scheduler/stowage/engine/api"
	"github.com/stowage-scheduler/stowage/engine/internal/doubt"
	"github.com/stowage-scheduler/stowage/engine/internal/place"
	"github.com/stowage-scheduler/stowage/engine/internal/preempt"
	"github.com/stowage-scheduler/stowage/engine/verdict"
)

// maxReturns is how often a pod comes back. Priorities fall along a chain of preemptions, but two pods may take turns forever if the
// rules of each keep the other one out.
const maxReturns = 16

// maxReturned bounds the pods that come back in a queue.
const maxReturned = 100_000

// firstReturned is the ordinal of the first pod that came back, higher than the ordinals of all entries.
const firstReturned = math.MaxInt32

// Returns tracks preempted pods that their controllers create again. They are pending from then on, behind the pods of
// their priority that are pending already.
type Returns struct {
	// Entries are the pods of the cluster that came back, by the entries of the queue behind the given ones, and Unread their unread
	// fields. A preempted pod of the queue comes back to its entry.
	Entries []verdict.PodReference
	Unread  [][]api.UnreadField
	// Gone are pods whose controllers do not recreate them, or whose controllers' behavior is unknown. Late are pods that met a bound.
	Gone, Late []verdict.PodReference
	// Undecided is about the searches of the queue.
	Undecided doubt.Undecided
}

// returning is preempted pods of which one entry comes back.
type returning struct {
	pod    *api.Pod // nil for pods of an entry of the queue
	entry  int
	times  int // how often they have come back then
	of     verdict.PodReference
	unread []api.UnreadField
}

// leaves notes that victims leave, before they do.
func (q *queue) leaves(victims []preempt.VictimOn) error {
	if q.Returns == nil {
		return nil
	}
	for i := range victims {
		if i%16 == 15 && q.ctx.Err() != nil {
			return q.ctx.Err()
		}
		v := &victims[i]
		r := returning{of: q.State.VictimReference(v.Node, &v.Victim), times: 1}
		if at, assumed := v.Assumed(); assumed {
			left := &q.placed[at-q.before]
			controller := q.Pending[left.entry].Pod.Template.Controller
			if !controller.Creates() || controller.Kind == api.DaemonSet || q.groupOf(left.entry) != nil {
				continue
			}
			r.entry, r.times = left.entry, left.returned+1
		} else {
			created := q.State.Replacement(&v.Victim)
			if created.Pod == nil && !created.Unknown {
				continue
			}
			if created.Unknown || created.Own || q.State.Membership(&v.Victim) != nil || doubt.Left(q.Profile, created.Pod.Template) {
				q.Returns.Gone = verdict.AppendPods(q.Returns.Gone, r.of)
				continue
			}
			r.pod, r.unread = created.Pod, q.State.VictimUnread(v.Node, &v.Victim)
		}
		if r.times > maxReturns || q.returned+r.of.Count > maxReturned {
			q.Returns.Late = verdict.AppendPods(q.Returns.Late, r.of)
			continue
		}
		if r.pod == nil {
			q.entries[r.entry].evicted-- // evict counts it
		}
		q.returned += r.of.Count
		q.returning = append(q.returning, r)
	}
	return nil
}

// comeBack makes the pods pending that have left and come back.
func (q *queue) comeBack() {
	for i := range q.returning {
		r := &q.returning[i]
		if r.pod != nil {
			r.entry = q.append(r)
		}
		class := q.Classes[r.entry]
		if q.gate(class) != nil {
			continue
		}
		p := &pods{
			entry: r.entry, ordinal: firstReturned + int(q.clock), count: r.of.Count, class: class, since: q.clock, returned: r.times,
		}
		q.clock += int64(r.of.Count)
		at, _ := slices.BinarySearchFunc(q.active, p.priority(), func(o *pods, priority int32) int {
			return cmp.Or(cmp.Compare(priority, o.priority()), -1) // behind pods of equal priority
		})
		q.active = slices.Insert(q.active, at, p)
	}
	q.returning = q.returning[:0]
}

// append appends an entry for a preempted pod, or counts the pod with an equal one before it.
func (q *queue) append(r *returning) int {
	before := len(q.Returns.Entries)
	q.Returns.Entries = verdict.AppendPods(q.Returns.Entries, r.of)
	if len(q.Returns.Entries) == before {
		entry := len(q.Pending) - 1
		q.Pending[entry].Count += r.of.Count
		return entry
	}
	q.Returns.Unread = append(q.Returns.Unread, r.unread)
	q.entries = append(q.entries, entry{})
	return q.Append(place.Pending{Pod: *r.pod, Count: r.of.Count})
}
