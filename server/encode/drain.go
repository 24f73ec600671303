package encode

import (
	"github.com/stowage-scheduler/stowage/engine/verdict"
	stowagev1 "github.com/stowage-scheduler/stowage/proto/stowage/v1"
)

// Drain encodes the part of a DrainResponse that is one drain.
func Drain(d *verdict.Drain, names Names) ([]byte, error) {
	e := encoder{names: names, b: make([]byte, 0, fixedBytes+moveBytes*len(d.Moves))}
	e.lengthDelimited(1, func() { e.drain(d) })
	return e.b, e.err
}

// drain encodes the fields of a NodeDrain.
func (e *encoder) drain(d *verdict.Drain) {
	e.nodes(1, d.Nodes)
	e.message(&stowagev1.NodeDrain{
		Status: drainStatus(d.Status), EvictedCount: uint32(d.Evicted), PlacedCount: uint32(d.Placed),
		StayingCount: uint32(d.Staying), RoundCount: uint32(d.Rounds), Truncated: d.Truncated,
		TerminatingCount: uint32(d.Terminating),
		Doubts:           doubts(d.Doubts),
	})
	for i := range d.Moves { // one message after the other: there may be a million
		m := &d.Moves[i]
		e.lengthDelimited(7, func() {
			e.message(&stowagev1.PodMove{Pod: podReference(&m.Pod), Round: uint32(m.Round)})
			e.nodes(2, m.Nodes)
		})
	}
	for i := range d.Unplaced {
		u := &d.Unplaced[i]
		e.lengthDelimited(8, func() {
			e.message(&stowagev1.UnplacedPod{Pod: podReference(&u.Pod), Message: u.Message, Unknown: u.Unknown})
		})
	}
	for i := range d.Blocked {
		e.lengthDelimited(9, func() { e.message(blockedPod(&d.Blocked[i])) })
	}
	for i := range d.Preempted {
		e.lengthDelimited(10, func() { e.message(podReference(&d.Preempted[i])) })
	}
}

// moveBytes estimates the length of a PodMove.
const moveBytes = 40

func blockedPod(b *verdict.BlockedPod) *stowagev1.BlockedPod {
	out := &stowagev1.BlockedPod{Pod: podReference(&b.Pod), Reason: blockedReason(b.Reason)}
	for _, name := range b.Budgets {
		out.Budgets = append(out.Budgets, &stowagev1.NamespacedName{Namespace: b.Pod.Namespace, Name: name})
	}
	return out
}

// DrainSummary encodes the last part of a DrainResponse. address is the content address of the cluster.
func DrainSummary(s *verdict.DrainSummary, address string) ([]byte, error) {
	var e encoder
	e.message(&stowagev1.DrainResponse{Part: &stowagev1.DrainResponse_Summary{Summary: &stowagev1.DrainSummary{
		DrainedCount: uint32(s.Drained), TotalCount: uint32(s.Total), UpperBound: uint32(s.UpperBound), Proven: s.Proven,
		Steps: uint64(s.Steps), SnapshotAddress: address,
	}}})
	return e.b, e.err
}
