package oracle

import (
	"fmt"

	"github.com/stowage-scheduler/stowage/bench/parity/scenario"
)

// Placement is what becomes of a queue entry when each pod goes to one of the nodes that kube-scheduler finds best.
type Placement struct {
	Nodes []uint32
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
		for range entry.Count {
			d, err := s.Decide(s.Queue[i])
			if err != nil {
				return nil, fmt.Errorf("queue[%d]: %w", i, err)
			}
			if len(d.Best) == 0 {
				out[i].Unplaced = d
				if out[i].Checks, err = s.Checks(s.Queue[i]); err != nil {
					return nil, fmt.Errorf("queue[%d]: %w", i, err)
				}
				if out[i].Preemption, err = s.Preempt(s.Queue[i]); err != nil {
					return nil, fmt.Errorf("queue[%d]: %w", i, err)
				}
				break
			}
			node := choose(d.Best)
			out[i].Nodes = append(out[i].Nodes, node)
			if err := s.Assume(s.Queue[i], node); err != nil {
				return nil, fmt.Errorf("queue[%d]: %w", i, err)
			}
		}
	}
	return out, nil
}
