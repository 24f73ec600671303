package queue

import (
	"github.com/stowage-scheduler/stowage/engine/internal/place"
	"github.com/stowage-scheduler/stowage/engine/internal/plugin"
)

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
	return q.nominateTo(p, to)
}

// nominateTo nominates a pod to another node, or ends its nomination.
func (q *queue) nominateTo(p *pods, to string) error {
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
	pending, pod := *p.class.Pod, *p.class.Pod.Pod
	pod.NominatedNode = to
	pending.Pod, p.nominated, p.pending = &pod, to, &pending
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

// nominee returns the class of a pod that is nominated.
func (p *pods) nominee() *place.Class { return &place.Class{Pod: p.pending, Like: p.class, Scan: true} }

func (q *queue) renominated(node uint32) {
	q.changes = append(q.changes, node)
	q.Renominated()
}

// outrank ends the nominations of pods with a lower priority than one that preempts on their node, and wakes the pods that they
// kept from it (pkg/scheduler/framework/preemption/executor.go getLowerPriorityNominatedPods, v1.37).
func (q *queue) outrank(priority int32, node uint32) error {
	outranked := q.State.NominatedTo(nil, node, priority)
	if len(outranked) == 0 {
		return nil
	}
	q.State.WithdrawBelow(node, priority)
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
