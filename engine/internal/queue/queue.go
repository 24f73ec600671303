// Package queue attempts the pods of a queue as kube-scheduler's scheduling queue does (pkg/scheduler/backend/queue, v1.37).
//
// All pods are created at once, in the given order, and nothing takes time: victims have left, all events are seen and placed
// pods are bound before the next pod is attempted. Pods that no event moves wait for the flush of unschedulable pods, which
// comes when no other pod is left to attempt (scheduling_queue.go flushUnschedulableEntitiesLeftover). The queue ends with a
// flush after which no pod was placed or evicted.
//
// It ends: each pod leaves at most once, so that finitely many are placed or evicted. In between, a pod is attempted again only
// after another one lost its nomination, and it gets no new one without an eviction.
package queue

import (
	"cmp"
	"container/heap"
	"context"
	"math"
	"slices"

	"github.com/stowage-scheduler/stowage/engine/internal/cluster"
	"github.com/stowage-scheduler/stowage/engine/internal/decide"
	"github.com/stowage-scheduler/stowage/engine/internal/nodeset"
	"github.com/stowage-scheduler/stowage/engine/internal/place"
	"github.com/stowage-scheduler/stowage/engine/internal/plugin"
	"github.com/stowage-scheduler/stowage/engine/verdict"
)

// pods are pods of an entry in a row that have fared alike so far: a pod, if it is nominated.
type pods struct {
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

func (p *pods) priority() int32 { return p.class.Pod.Spec().Priority }

// compare orders pods as PrioritySort does (pkg/scheduler/framework/plugins/queuesort/priority_sort.go, v1.37).
func compare(a, b *pods) int {
	return cmp.Or(cmp.Compare(b.priority(), a.priority()), cmp.Compare(a.since, b.since))
}

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
func (b *backoffs) Push(p any)   { *b = append(*b, p.(*pods)) }
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

// Options are the arguments of Place.
type Options struct {
	Explain, Changes bool
	// Preempt asks for Placement.Preemption.
	Preempt bool
}

// queue is a queue that is being placed.
type queue struct {
	*place.Queue
	Options
	ctx context.Context

	entries []entry
	// active are those to attempt first, in their order: those that were never attempted, or flushed. Gated ones are left out.
	active  []*pods
	backoff backoffs
	// unschedulable are the pods that wait for events, leftover those that only the flush brings back.
	unschedulable []*kept
	keptBy        map[keptBy]*kept
	leftover      []*pods
	nominees      map[*cluster.Nomination]*pods

	placed    []placed // by the order in which the state assumed them
	before    int      // number of pods that the state assumed before
	evictions []verdict.Eviction

	clock int64
	// changes are the nodes of the changes that may change the outcome of an attempt. The State changes by nothing else.
	changes []uint32
	changed bool // whether a pod was placed or evicted since the last flush
	plugins map[verdict.Plugin]int
	known   map[*place.Class]*failure
	// memories are by class, and memorized is their size in bytes.
	memories  map[*place.Class]*memory
	memorized int
	gated     map[*place.Class]*decide.PodRejection // nil for classes without gates
	// rounds is the number of flushes, and stored what the failures list that pods have since the last one.
	rounds, stored int
}

// entry is the state of a queue entry.
type entry struct {
	failed   []*pods // after their first attempt
	evicted  int
	attempts uint64
}

type placed struct {
	entry   int
	node    uint32
	evicted bool
}

// Place places the pods of q, which has placed none yet, and fills q.Placements, also if it returns an error. The pods of q are
// not nominated: nominated has the names of the nodes that they are nominated to by entry, nil for none.
func Place(ctx context.Context, q *place.Queue, nominated []string, o Options) ([]verdict.Eviction, error) {
	r := &queue{
		Queue: q, Options: o, ctx: ctx, entries: make([]entry, len(q.Pending)), keptBy: make(map[keptBy]*kept),
		nominees: make(map[*cluster.Nomination]*pods), plugins: make(map[verdict.Plugin]int),
		known: make(map[*place.Class]*failure), memories: make(map[*place.Class]*memory),
		gated: make(map[*place.Class]*decide.PodRejection), before: q.State.Assumed(),
	}
	for i, p := range q.Framework.Filters {
		r.plugins[p.Name] = i
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
		gated := q.gate(class) != nil
		add := func(p *pods) {
			if !gated && p.count > 0 {
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

// next attempts the pod at the head of the queue, if there is one, and those behind it that fare alike.
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

// attempt is one scheduling cycle (pkg/scheduler/schedule_one.go scheduleOnePod, v1.37) for the first of some pods, and for all
// of them if it changes nothing. It reports whether any are left.
func (q *queue) attempt(p *pods) (left bool, err error) {
	class := p.class
	if p.nominated != "" {
		class = &place.Class{Pod: p.pending, Scan: true}
	}
	node, found, err := q.best(p, class)
	if err != nil {
		return false, err
	}
	e := &q.entries[p.entry]
	if found {
		e.attempts++
		q.place(p, node)
		if p.next(); p.count == 0 {
			q.release(p)
		}
		return p.count > 0, q.wake(&plugin.Event{Shape: p.class.Pod.Shape}, math.MaxInt32)
	}
	why, err := q.failure(class)
	if err != nil {
		return false, err
	}
	tried := p
	if len(why.victims) > 0 {
		tried = p.first()
	}
	e.attempts += uint64(tried.count)
	return tried != p, q.fail(tried, why)
}

// best returns the best node for a pod, and whether one is feasible. A feasible node that the pod is nominated to is the only
// one that is evaluated.
func (q *queue) best(p *pods, class *place.Class) (uint32, bool, error) {
	if n, known := q.State.Node(p.nominated); p.nominated != "" && known && q.Candidates.Has(n) {
		only := nodeset.New(q.State.Len())
		only.Add(n)
		outcome, err := q.Decision(class).Filter(q.ctx, only)
		if err != nil || !outcome.Feasible.Empty() {
			return n, err == nil, err
		}
	}
	return q.Next(q.ctx, class, &q.Placements[p.entry])
}

// place places the first of some pods.
func (q *queue) place(p *pods, node uint32) {
	q.withdraw(p)
	q.Assume(p.entry, node)
	q.placed = append(q.placed, placed{entry: p.entry, node: node})
	q.changes = append(q.changes, node)
	q.changed = true
}

// fail puts pods back that have no node, and preempts for the only one of them (pkg/scheduler/schedule_one.go
// handleSchedulingFailure, pkg/scheduler/framework/preemption/executor.go prepareCandidateAsync, v1.37).
func (q *queue) fail(p *pods, why *failure) error {
	if p.why == nil {
		e := &q.entries[p.entry]
		e.failed = append(e.failed, p)
	}
	q.have(p, why)
	p.since, p.rejectors = q.clock, why.rejectors
	q.clock += int64(p.count)
	if why.rejectors == 0 {
		q.leftover = append(q.leftover, p)
	} else {
		p.unschedulable++
		q.keep(p)
	}
	if err := q.renominate(p, why); err != nil || len(why.victims) == 0 {
		return err
	}
	left, err := q.evict(p, why)
	if err != nil {
		return err
	}
	if slices.ContainsFunc(left.shapes, func(s *cluster.Shape) bool { return !s.Terminating }) { // otherwise there is nothing to do
		if err := q.outrank(p, why.preemption.Nominated.Node); err != nil {
			return err
		}
	}
	return q.wakeAll(left)
}

// renominate applies what a failed attempt changes about the nomination of a pod. If the nomination ends, the pods that it kept
// from its node are woken, and itself (pkg/scheduler/eventhandlers.go updatePodInSchedulingQueue, v1.37).
func (q *queue) renominate(p *pods, why *failure) error {
	to := p.nominated
	switch {
	case why.preemption == nil || why.preemption.ClearsNomination:
		to = ""
	case why.preemption.Nominated != nil:
		to = q.State.Names[why.preemption.Nominated.Node]
	}
	before := p.nominated
	if to == before {
		return nil
	}
	q.withdraw(p)
	q.nominate(p, to)
	if before == "" {
		return nil
	}
	return q.wake(&plugin.Event{Shape: p.class.Pod.Shape, Left: true}, p.priority())
}

// nominate nominates a pod that is not nominated to a node; empty for none.
func (q *queue) nominate(p *pods, to string) {
	if to == "" {
		return
	}
	pending, stated := *p.class.Pod, *p.class.Pod.Pod
	stated.NominatedNode = to
	pending.Pod, p.nominated, p.pending = &stated, to, &pending
	if node, known := q.State.Node(to); known {
		pending.Nomination = q.State.Nominate(&pending, node)
		q.nominees[pending.Nomination] = p
		q.renominated(node)
	}
}

// withdraw ends the nomination of a pod.
func (q *queue) withdraw(p *pods) {
	if p.nominated == "" {
		return
	}
	if n := p.pending.Nomination; n != nil {
		q.State.Withdraw(n)
		delete(q.nominees, n)
		q.renominated(n.Node())
	}
	p.nominated, p.pending = "", nil
}

func (q *queue) renominated(node uint32) {
	q.changes = append(q.changes, node)
	q.Renominated()
}

// outrank ends the nominations of pods with a lower priority than one that preempts on their node, and wakes the pods that they
// kept from it (pkg/scheduler/framework/preemption/executor.go getLowerPriorityNominatedPods, v1.37).
func (q *queue) outrank(p *pods, node uint32) error {
	outranked := q.State.NominatedTo(nil, node, p.priority())
	if len(outranked) == 0 {
		return nil
	}
	q.State.WithdrawBelow(node, p.priority())
	q.renominated(node)
	var left departures
	for i := range outranked {
		n := &outranked[i]
		left.add(n.Shape, n.Priority)
		if other := q.nominees[n.Own()]; other != nil {
			delete(q.nominees, n.Own())
			other.nominated, other.pending = "", nil
		} else {
			q.State.Clear(node, n)
		}
	}
	return q.wakeAll(left)
}

// evict lets the victims of a pod leave. After an error, which ends the queue, the answer has all of them left, and
// the state some.
func (q *queue) evict(p *pods, why *failure) (left departures, err error) {
	node := why.preemption.Nominated.Node
	for i := range why.victims {
		v := &why.victims[i]
		if at, assumed := v.Assumed(); assumed && at >= q.before {
			at -= q.before
			q.placed[at].evicted = true
			q.entries[q.placed[at].entry].evicted++
		}
		left.add(q.State.Group(int(v.Group)).Shape, math.MaxInt32)
	}
	q.evictions = append(q.evictions, verdict.Eviction{Entry: p.entry, Candidate: *why.preemption.Nominated})
	q.State.LeavePorts(node, why.victims)
	for i := range why.victims {
		if i%16 == 15 && q.ctx.Err() != nil { // an assumed pod is searched for
			return left, q.ctx.Err()
		}
		q.State.EvictVictim(node, &why.victims[i])
	}
	// The memories forget the node, and with it its occupied ports, which have changed above. Nothing is searched for meanwhile.
	q.changes = append(q.changes, node)
	q.changed = true
	q.Evicted()
	return left, nil
}

// departures are pods that left, or lost their nomination, by shape: the others are alike to all that wait.
type departures struct {
	shapes []*cluster.Shape
	most   map[*cluster.Shape]int32 // highest priority of the pods that they wake
}

func (d *departures) add(s *cluster.Shape, most int32) {
	before, known := d.most[s]
	if !known {
		if d.shapes = append(d.shapes, s); d.most == nil {
			d.most = make(map[*cluster.Shape]int32)
		}
		before = most
	}
	d.most[s] = max(before, most)
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

// wake moves the pods that wait for an event, and do not have more than a priority, to those that back off
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
