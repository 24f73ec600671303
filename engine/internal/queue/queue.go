// Package queue attempts the pods of a queue as kube-scheduler's scheduling queue does (pkg/scheduler/backend/queue, v1.37).
//
// All pods are created at once, in the given order, and nothing takes time: victims have left, all events are seen and placed pods
// are bound before the next pod is attempted. Pods that no event moves wait for the flush of unschedulable pods, which comes when no
// other pod is left to attempt (scheduling_queue.go flushUnschedulableEntitiesLeftover). The queue ends with a flush after which no
// pod was placed or evicted.
//
// A pod group is one entity of the queue: see group.
//
// With Options.Returns, preempted pods come back, a number of times: see Returns.
//
// The queue terminates. Each pod leaves at most once, so the number of placements and evictions is finite. Between them, a pod is
// attempted again only after another pod lost its nomination, and a pod gets no new nomination without an eviction. Pods of a group
// are an exception: the group's preemption may find room without victims that its attempts never find. But an unplaced group waits
// for the flush.
package queue

import (
	"cmp"
	"container/heap"
	"context"
	"slices"

	"github.com/stowage-scheduler/stowage/engine/api"
	"github.com/stowage-scheduler/stowage/engine/internal/cluster"
	"github.com/stowage-scheduler/stowage/engine/internal/decide"
	"github.com/stowage-scheduler/stowage/engine/internal/gang"
	"github.com/stowage-scheduler/stowage/engine/internal/place"
	"github.com/stowage-scheduler/stowage/engine/verdict"
)

// pods are pods of an entry in a row that have fared alike so far: a pod, if it is nominated. Or they are a pod group.
type pods struct {
	// group is nil for pods without one. Of a group, only since counts beside it.
	group *group
	entry int
	// ordinal is the index of the first of them in its entry, and count their number.
	ordinal, count int
	class          *place.Class
	// since is when the first pod was attempted last. The others were one after the other right behind it.
	since int64
	// unschedulable counts the attempts that ended with a rejection.
	unschedulable int
	// rejectors are the plugins that rejected the pod, by their index in the framework.
	rejectors uint64
	// nominated is the name of the node that the pod is nominated to, empty for none. pending is the pod with that nomination,
	// which the state has if the cluster has the node.
	nominated string
	pending   *cluster.Pending
	why       *failure // of the last attempt; nil before the first
	returned  int      // how often they came back after a preemption
}

// first returns the first pod, and leaves the others.
func (p *pods) first() *pods {
	if p.count == 1 {
		return p
	}
	one := *p
	one.count, one.why = 1, nil
	p.next()
	return &one
}

// next leaves all pods but the first.
func (p *pods) next() {
	p.ordinal++
	p.since++
	p.count--
}

func (p *pods) priority() int32 {
	if p.group != nil {
		return p.group.priority
	}
	return p.class.Pod.Spec().Priority
}

// compare orders pods as PrioritySort does (pkg/scheduler/framework/plugins/queuesort/priority_sort.go, v1.37).
func compare(a, b *pods) int {
	return cmp.Or(cmp.Compare(b.priority(), a.priority()), cmp.Compare(a.since, b.since))
}

// Options are the arguments of Place.
type Options struct {
	Explain, Changes bool
	// Preempt requests Placement.Preemption.
	Preempt bool
	// Groups are the groups of gang.Cycle, with the same restrictions. Results has the same length and receives the results of the
	// groups. Profile is the profile of the queue.
	Groups  []gang.PodGroup
	Results []verdict.PodGroupPlacement
	Profile *api.Profile
	// Returns lets preempted pods come back, and records them; nil if they stay away.
	Returns *Returns
}

// queue is a queue that is being placed.
type queue struct {
	*place.Queue
	Options
	ctx context.Context

	entries []entry
	unplaced
	evicting
	memorizing

	clock    int64
	nominees map[*cluster.Nomination]*pods
	plugins  map[verdict.Plugin]int
	gated    map[*place.Class]*decide.PodRejection // nil for classes without gates
	cycle    *gang.Cycle                           // nil without groups
	groups   []*group
	blanks   map[string]*cluster.Pending // by namespace
	// rounds is the number of flushes, and stored what the failures list that pods have since the last one.
	rounds, stored int
}

// unplaced are the pods without a node, by what they wait for.
type unplaced struct {
	// active are the pods to attempt first, in their order: pods that were never attempted, and flushed pods. Gated pods are left out.
	active  []*pods
	backoff backoffs
	// unschedulable are the pods that wait for events. leftover are the pods that only the flush brings back.
	unschedulable []*kept
	keptBy        map[keptBy]*kept
	leftover      []*pods
}

// evicting is which pods were placed, left, and came back.
type evicting struct {
	placed    []placed // by the order in which the state assumed them
	before    int      // number of pods that the state assumed before
	evictions []verdict.Eviction
	returning []returning // of the last eviction
	returned  int         // number of pods that came back
}

// memorizing is what is known of earlier attempts.
type memorizing struct {
	// changes are the nodes of the changes that may change the outcome of an attempt. The State changes by nothing else.
	changes []uint32
	changed bool // whether a pod was placed or evicted since the last flush
	known   map[*place.Class]*failure
	// memories are by class, and memorized is their size in bytes.
	memories  map[*place.Class]*memory
	memorized int
}

// entry is the state of a queue entry.
type entry struct {
	failed   []*pods // after their first attempt
	evicted  int
	attempts uint64
}

type placed struct {
	entry    int
	node     uint32
	evicted  bool
	returned int // how often it had come back
}

// Place places the pods of q, which has placed none yet, and fills q.Placements, also if it returns an error. The pods of q are
// not nominated: nominated has the names of the nodes that they are nominated to by entry, nil for none.
func Place(ctx context.Context, q *place.Queue, nominated []string, o Options) ([]verdict.Eviction, error) {
	r := &queue{
		Queue: q, Options: o, ctx: ctx, entries: make([]entry, len(q.Pending)),
		nominees: make(map[*cluster.Nomination]*pods), plugins: make(map[verdict.Plugin]int),
		gated: make(map[*place.Class]*decide.PodRejection),

		unplaced:   unplaced{keptBy: make(map[keptBy]*kept)},
		evicting:   evicting{before: q.State.Assumed()},
		memorizing: memorizing{known: make(map[*place.Class]*failure), memories: make(map[*place.Class]*memory)},
	}
	for i, p := range q.Framework.Filters {
		r.plugins[p.Name] = i
	}
	if len(o.Groups) > 0 {
		r.cycle = gang.NewCycle(q, o.Profile, o.Groups)
	}
	err := ctx.Err()
	if err == nil && len(q.Classes) == len(q.Pending) {
		if err = r.begin(nominated); err == nil {
			err = r.run()
		}
	}
	if finished := r.finish(err == nil); err == nil {
		err = finished
	}
	return r.evictions, err
}

// begin fills the queue.
func (q *queue) begin(nominated []string) error {
	for i := range q.Pending {
		if i%1024 == 0 && q.ctx.Err() != nil {
			return q.ctx.Err()
		}
		class := q.Classes[i]
		gated, g := q.gate(class), q.groupOf(i)
		add := func(p *pods) {
			switch {
			case p.count == 0:
			case g != nil:
				q.join(g, p, gated)
			case gated == nil:
				q.active = append(q.active, p)
			}
		}
		if nominated == nil || nominated[i] == "" {
			add(&pods{entry: i, count: q.Pending[i].Count, class: class})
			continue
		}
		for ordinal := range q.Pending[i].Count {
			if ordinal%1024 == 1023 && q.ctx.Err() != nil {
				return q.ctx.Err()
			}
			p := &pods{entry: i, ordinal: ordinal, count: 1, class: class}
			q.nominate(p, nominated[i])
			add(p)
		}
	}
	q.gateGroups()
	slices.SortStableFunc(q.active, func(a, b *pods) int { return cmp.Compare(b.priority(), a.priority()) })
	return nil
}

// gate returns the rejection that keeps the pods of a class out of the queue, nil if there is none. It compiles no decision.
func (q *queue) gate(c *place.Class) *decide.PodRejection {
	gated, known := q.gated[c]
	if !known {
		gated = q.Framework.Gated(c.Pod.Spec())
		q.gated[c] = gated
	}
	return gated
}

// run attempts pods until nothing changes any more.
func (q *queue) run() error {
	for flushed := false; ; flushed = true {
		q.changed = false
		for {
			more, err := q.next()
			if err != nil {
				return err
			}
			if !more {
				break
			}
		}
		if flushed && !q.changed {
			return nil
		}
		if q.flush(); len(q.active) == 0 {
			return nil
		}
	}
}

// next attempts the pod at the head of the queue, if there is one, and the pods behind it with the same outcome.
func (q *queue) next() (more bool, err error) {
	switch {
	case len(q.active) > 0:
		p := q.active[0]
		if left, err := q.attempt(p); left || err != nil {
			return true, err
		}
		q.active = q.active[1:]
	case len(q.backoff) > 0:
		p := heap.Pop(&q.backoff).(*pods)
		left, err := q.attempt(p)
		if err != nil {
			return true, err
		}
		if left {
			heap.Push(&q.backoff, p)
		}
	default:
		return false, nil
	}
	return true, nil
}

// flush moves all pods that wait to the head of the queue. None backs off any more.
func (q *queue) flush() {
	q.active = append(q.active[:0:0], q.leftover...)
	for _, k := range q.unschedulable {
		q.active = append(q.active, k.pods...)
	}
	slices.SortFunc(q.active, compare)
	q.leftover, q.unschedulable, q.stored = nil, nil, 0
	q.rounds++
	clear(q.keptBy)
	clear(q.known)
}
