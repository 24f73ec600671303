package queue

import (
	"math"
	"slices"

	"github.com/stowage-scheduler/stowage/engine/api"
	"github.com/stowage-scheduler/stowage/engine/internal/doubt"
	"github.com/stowage-scheduler/stowage/engine/internal/place"
	"github.com/stowage-scheduler/stowage/engine/internal/preempt"
	"github.com/stowage-scheduler/stowage/engine/verdict"
)

// maxReturns is how often a pod comes back. Priorities fall along a chain of preemptions, but two pods may take turns for ever if the
// rules of each keep the other one out.
const maxReturns = 16

// firstReturned is the ordinal of the first pod that came back, behind those of all entries.
const firstReturned = math.MaxInt32

// Returns is what becomes of preempted pods that their controllers create again. They are pending from then on, behind the pods of
// their priority that are pending already.
type Returns struct {
	// Entries are the pods of the cluster that came back, by the entries of the queue behind the given ones, and Unread their unread
	// fields. A preempted pod of the queue comes back to its entry.
	Entries []verdict.PodReference
	Unread  [][]api.UnreadField
	// Gone are the pods whose controllers do something else, or something that is not known, and Late those that came back too often.
	Gone, Late []verdict.PodReference
}

// returning is preempted pods of which one entry comes back.
type returning struct {
	pod    *api.Pod // nil for those of an entry of the queue
	entry  int
	of     verdict.PodReference
	unread []api.UnreadField
}

// leaves notes that victims leave, before they do.
func (q *queue) leaves(victims []preempt.VictimOn) {
	if q.Returns == nil {
		return
	}
	for i := range victims {
		v := &victims[i]
		of := q.State.VictimReference(v.Node, &v.Victim)
		if at, assumed := v.Assumed(); assumed {
			q.leavesAgain(q.placed[at-q.before].entry, of)
			continue
		}
		created := q.State.Replacement(&v.Victim)
		switch {
		case q.State.Membership(&v.Victim) != nil || created.Unknown || created.Own || created.Pod != nil && doubt.Left(q.Profile, created.Pod.Template):
			q.Returns.Gone = verdict.AppendPods(q.Returns.Gone, of)
		case created.Pod != nil:
			q.returning = append(q.returning, returning{pod: created.Pod, of: of, unread: q.State.VictimUnread(v.Node, &v.Victim)})
		}
	}
}

// leavesAgain notes that a pod of the queue leaves.
func (q *queue) leavesAgain(entry int, of verdict.PodReference) {
	controller := q.Pending[entry].Pod.Template.Controller
	e := &q.entries[entry]
	switch {
	case !controller.Creates() || controller.Kind == api.DaemonSet || q.groupOf(entry) != nil:
	case e.returned >= maxReturns*q.Pending[entry].Count:
		q.Returns.Late = verdict.AppendPods(q.Returns.Late, of)
	default:
		e.returned++
		e.evicted-- // which evict counts
		q.returning = append(q.returning, returning{entry: entry, of: of})
	}
}

// comeBack makes the pods pending that have left and come back.
func (q *queue) comeBack() {
	for i := range q.returning {
		r := &q.returning[i]
		count := r.of.Count
		if r.pod != nil {
			r.entry = q.append(r)
		} else {
			count = 1
		}
		class := q.Classes[r.entry]
		if q.gate(class) != nil {
			continue
		}
		p := &pods{entry: r.entry, ordinal: firstReturned + q.cameBack, count: count, class: class, since: q.clock}
		q.clock, q.cameBack = q.clock+int64(count), q.cameBack+count
		at := slices.IndexFunc(q.active, func(o *pods) bool { return o.priority() < p.priority() })
		if at < 0 {
			at = len(q.active)
		}
		q.active = slices.Insert(q.active, at, p)
	}
	q.returning = q.returning[:0]
}

// append appends an entry for a preempted pod, or counts the pod with an equal one before it.
func (q *queue) append(r *returning) int {
	list := q.Returns.Entries
	last := len(list) - 1
	if list = verdict.AppendPods(list, r.of); len(list) == last+1 {
		entry := len(q.Pending) - 1
		q.Pending[entry].Count += r.of.Count
		q.Returns.Entries = list
		return entry
	}
	q.Returns.Entries, q.Returns.Unread = list, append(q.Returns.Unread, r.unread)
	q.entries = append(q.entries, entry{})
	return q.Append(place.Pending{Pod: *r.pod, Count: r.of.Count})
}
