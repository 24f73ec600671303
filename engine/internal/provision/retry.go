package provision

import (
	"context"

	"github.com/stowage-scheduler/stowage/engine/internal/place"
	"github.com/stowage-scheduler/stowage/engine/verdict"
)

// retry attempts pods without a node once more while that places any, as kube-scheduler's queue does after a pod that they wait for
// was placed (pkg/scheduler/backend/queue/scheduling_queue.go MoveAllToActiveOrBackoffQueue, v1.37). Without it, a pod that is
// queued before the pod that its affinity needs would have no node whatever nodes are added. Groups are attempted once.
func (s *solver) retry(ctx context.Context, q *place.Queue) error {
	grouped := make(map[int]bool)
	for i := range s.Groups {
		for _, entry := range s.Groups[i].Entries {
			grouped[entry] = true
		}
	}
	waiting := func(entry int) bool { return q.Placements[entry].Unplaced > 0 && !grouped[entry] }
	last := -1 // the last entry with pods that were placed since the entries before it were attempted
	for entry := range q.Placements {
		if len(q.Placements[entry].Nodes) > 0 {
			last = entry
		}
	}
	for last >= 0 {
		now := -1
		for entry := range q.Placements {
			if !waiting(entry) || now < 0 && entry > last {
				continue
			}
			p := &q.Placements[entry]
			before, left := len(p.Nodes), p.Unplaced
			*p = verdict.Placement{Nodes: p.Nodes, Scanned: p.Scanned}
			if err := q.Place(ctx, entry, left, p, nil); err != nil {
				return err
			}
			if len(p.Nodes) > before {
				now = entry
			}
			if p.Unplaced > 0 {
				if err := q.Fail(ctx, entry); err != nil {
					return err
				}
			}
		}
		last = now
	}
	return nil
}
