package oracle

import (
	"fmt"

	"github.com/stowage-scheduler/stowage/bench/parity/scenario"
)

// Placement is the result of a queue entry when each pod goes to one of the nodes that kube-scheduler finds best.
type Placement struct {
	Nodes []uint32
	// Bindings are the claims that the pods bound.
	Bindings []Binding
	// Granted are the devices that the claims of the pods got.
	Granted []Granted
	// Unplaced is the decision about the first pod that found no node, and Checks what each plugin said then.
	Unplaced *Decision
	Checks   []Check
	// Preemption is what preemption finds for that pod.
	Preemption *Preemption
}

// Place runs the case's queue. Among equally good nodes, choose picks: kube-scheduler itself picks any.
func (s *Scheduler) Place(queue []scenario.Pending, choose func(best []uint32) uint32) ([]Placement, error) {
	out := make([]Placement, len(queue))
	for i, entry := range queue {
		p, err := s.placeEntry(i, entry.Count, choose)
		if err == nil && p.Unplaced != nil {
			if p.Checks, err = s.Checks(s.Queue[i]); err == nil {
				err = s.failed(i, p)
			}
		}
		if err != nil {
			return nil, fmt.Errorf("queue[%d]: %w", i, err)
		}
		out[i] = *p
	}
	return out, nil
}

// PlaceEntry runs a queue entry, without Checks.
func (s *Scheduler) PlaceEntry(i, count int, choose func(best []uint32) uint32) (*Placement, error) {
	out, err := s.placeEntry(i, count, choose)
	if err == nil && out.Unplaced != nil && s.nominatedTo(s.Queue[i]) != "" {
		err = s.failed(i, out)
	}
	return out, err
}

// failed has kube-scheduler end an attempt that found no node: with preemption, and what follows for the pod's nomination.
func (s *Scheduler) failed(i int, p *Placement) (err error) {
	if p.Preemption, err = s.Preempt(s.Queue[i]); err == nil {
		s.fail(s.Queue[i], p)
	}
	return err
}

func (s *Scheduler) placeEntry(i, count int, choose func(best []uint32) uint32) (*Placement, error) {
	out := &Placement{}
	for range count {
		d, err := s.Decide(s.Queue[i])
		if err != nil {
			return nil, err
		}
		if len(d.Best) == 0 {
			out.Unplaced = d
			break
		}
		node := choose(d.Best)
		out.Nodes = append(out.Nodes, node)
		bound, granted, err := s.Assume(s.Queue[i], node)
		if err != nil {
			return nil, err
		}
		out.Bindings, out.Granted = append(out.Bindings, bound...), append(out.Granted, granted...)
	}
	return out, nil
}
