package queue

import (
	"cmp"
	"container/heap"
	"slices"

	"github.com/stowage-scheduler/stowage/engine/internal/place"
	"github.com/stowage-scheduler/stowage/engine/internal/plugin"
)

// maxBackoff is the longest backoff in units of the shortest one (pkg/scheduler/backend/queue/scheduling_queue.go
// DefaultPodMaxBackoffDuration and DefaultPodInitialBackoffDuration, v1.37).
const maxBackoff = 10

// backoff returns when the backoff of the pod ends, in units of the shortest backoff (backoff_queue.go
// calculateBackoffDuration).
func (p *pods) backoff() int {
	if doublings := p.unschedulable - 1; doublings < 4 {
		return min(1<<doublings, maxBackoff)
	}
	return maxBackoff
}

// backoffs is a heap of pods by the end of their backoff. While no other pod is left to attempt, the first one is
// (active_queue.go unlockedPop, backoff_queue.go lessBackoffCompletedWithPriority).
type backoffs []*pods

func (b backoffs) Len() int { return len(b) }

func (b backoffs) Less(i, j int) bool {
	return cmp.Or(cmp.Compare(b[i].backoff(), b[j].backoff()), compare(b[i], b[j])) < 0
}

func (b backoffs) Swap(i, j int) { b[i], b[j] = b[j], b[i] }

func (b *backoffs) Push(p any) { *b = append(*b, p.(*pods)) }

func (b *backoffs) Pop() any {
	last := len(*b) - 1
	p := (*b)[last]
	(*b)[last], *b = nil, (*b)[:last]
	return p
}

// kept are unschedulable pods that wait for the same events.
type kept struct {
	keptBy
	waits []func(*plugin.Event) bool
	pods  []*pods
}

type keptBy struct {
	class     *place.Class
	rejectors uint64
}

// keep lets a pod wait for the events that its rejectors wait for.
func (q *queue) keep(p *pods) {
	by := keptBy{p.class, p.rejectors}
	k := q.keptBy[by]
	if k == nil {
		k = &kept{keptBy: by, waits: q.waits(p)}
		q.keptBy[by] = k
	}
	if len(k.waits) == 0 {
		q.leftover = append(q.leftover, p)
		return
	}
	if len(k.pods) == 0 {
		q.unschedulable = append(q.unschedulable, k)
	}
	k.pods = append(k.pods, p)
}

// waits returns what the plugins that rejected a pod wait for.
func (q *queue) waits(p *pods) (waits []func(*plugin.Event) bool) {
	for i, of := range q.Framework.Filters {
		if p.rejectors&(1<<i) == 0 {
			continue
		}
		if awaited := of.Awaited(q.Decision(p.class).Cycle); awaited != nil {
			waits = append(waits, awaited)
		}
	}
	return waits
}

func waitsFor(waits []func(*plugin.Event) bool, e *plugin.Event) bool {
	return slices.ContainsFunc(waits, func(awaited func(*plugin.Event) bool) bool { return awaited(e) })
}

// wakeAll wakes pods for departures.
func (q *queue) wakeAll(left departures) error {
	for _, s := range left.shapes {
		if err := q.wake(&plugin.Event{Shape: s, Left: true}, left.most[s]); err != nil {
			return err
		}
	}
	return nil
}

// wake moves the pods that wait for an event from the unschedulable to the backoff pods, unless their priority is higher than most
// (scheduling_queue.go moveAllToActiveOrBackoffQueue). An error ends the queue.
func (q *queue) wake(e *plugin.Event, most int32) error {
	still := q.unschedulable[:0]
	for i, k := range q.unschedulable {
		if i%1024 == 0 && q.ctx.Err() != nil {
			return q.ctx.Err()
		}
		if k.class.Pod.Spec().Priority > most || !waitsFor(k.waits, e) {
			still = append(still, k)
			continue
		}
		for _, p := range k.pods {
			heap.Push(&q.backoff, p)
		}
		k.pods = nil
	}
	clear(q.unschedulable[len(still):])
	q.unschedulable = still
	return nil
}
