package expect

import (
	"cmp"
	"slices"

	"github.com/stowage-scheduler/stowage/bench/parity/oracle"
	"github.com/stowage-scheduler/stowage/bench/parity/scenario"
	stowagev1 "github.com/stowage-scheduler/stowage/proto/stowage/v1"
)

// Best is the contract's choice among equally good nodes, for a case.
func Best(c *scenario.Case) func(best []uint32) uint32 {
	return func(best []uint32) uint32 { return first(c, best) }
}

// QueueAnswer states how a whole kube-scheduler ran a case's queue.
func QueueAnswer(c *scenario.Case, r *oracle.QueueResult) (*stowagev1.PlaceResponse, error) {
	out := &stowagev1.PlaceResponse{}
	for i := range c.Queue {
		var pods []*oracle.QueuedPod
		for _, p := range r.Pods {
			if p.Entry == i {
				pods = append(pods, p)
			}
		}
		entry, err := queueEntry(c, pods)
		if err != nil {
			return nil, err
		}
		out.PlacedCount += uint32(len(entry.Nodes.Indexes))
		out.UnplacedCount += entry.UnplacedCount
		out.EvictedCount += entry.EvictedCount
		out.Placements = append(out.Placements, entry)
	}
	for _, e := range r.Evictions {
		eviction := &stowagev1.Eviction{QueueIndex: uint32(e.Entry), NodeIndex: e.Node, PdbViolations: uint32(e.Violations)}
		for _, v := range e.Victims {
			eviction.Victims = append(eviction.Victims, victim(e.Node, &v))
		}
		out.Evictions = append(out.Evictions, eviction)
	}
	return out, nil
}

func queueEntry(c *scenario.Case, pods []*oracle.QueuedPod) (*stowagev1.Placement, error) {
	entry := &stowagev1.Placement{Nodes: &stowagev1.NodeList{}}
	var unplacedPod *oracle.QueuedPod
	var placed []*oracle.QueuedPod
	for _, p := range pods {
		entry.AttemptCount += uint64(p.Attempts)
		switch {
		case p.Evicted:
			entry.EvictedCount++
		case p.Placed > 0:
			placed = append(placed, p)
		default:
			entry.UnplacedCount++
			unplacedPod = cmp.Or(unplacedPod, p)
		}
	}
	slices.SortFunc(placed, func(a, b *oracle.QueuedPod) int { return cmp.Compare(a.Placed, b.Placed) })
	for _, p := range placed {
		entry.Nodes.Indexes = append(entry.Nodes.Indexes, p.Node)
	}
	if unplacedPod == nil {
		return entry, nil
	}
	entry.Message, entry.InternalError = unplacedPod.Message, unplacedPod.Last.Failed()
	var err error
	entry.Rejections, err = unplaced(unplacedPod.Last, candidatesOf(c))
	return entry, err
}
