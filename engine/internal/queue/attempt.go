package queue

import (
	"math"

	"github.com/stowage-scheduler/stowage/engine/internal/plugin"
	"github.com/stowage-scheduler/stowage/engine/verdict"
)

// attempt is one scheduling cycle (pkg/scheduler/schedule_one.go scheduleOnePod, v1.37) for the first of some equal pods. If it
// changes nothing, it stands for all of them. It reports whether pods are left.
func (q *queue) attempt(p *pods) (left bool, err error) {
	if p.group != nil {
		return q.attemptGroup(p)
	}
	class := p.class
	if p.nominated != "" {
		class = p.nominee()
	}
	node, found, err := q.Next(q.ctx, class, &q.Placements[p.entry])
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

// place places the first of some pods.
func (q *queue) place(p *pods, node uint32) {
	q.withdraw(p)
	q.Assume(p.entry, node)
	q.placed = append(q.placed, placed{entry: p.entry, node: node, returned: p.returned})
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
	e := verdict.Eviction{Entry: p.entry, Candidate: *why.preemption.Nominated}
	return q.preempt(e, why.victims, p.priority(), why.preemption.Nominated.Node, true)
}
