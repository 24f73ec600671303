package encode

import (
	"github.com/stowage-scheduler/stowage/engine"
	"github.com/stowage-scheduler/stowage/engine/verdict"
	stowagev1 "github.com/stowage-scheduler/stowage/proto/stowage/v1"
)

// defaultPodsPerMessage applies if the request has no pods_per_message.
const defaultPodsPerMessage = 256

// PlaceStream is an engine.Watcher that sends the responses to a PlaceStreamRequest. A message never ends within the pods
// of a group.
type PlaceStream struct {
	names          Names
	send           func(*stowagev1.PlaceStreamResponse) error
	podsPerMessage int
	grouped        []bool // by queue entry: whether its pods are in a group
	next           *stowagev1.PlaceStreamResponse
	pods           int // in next
}

// NewPlaceStream returns a PlaceStream for a request and the queue and groups decoded from it.
func NewPlaceStream(
	in *stowagev1.PlaceStreamRequest, queue []engine.Pending, groups []engine.PodGroup, names Names,
	send func(*stowagev1.PlaceStreamResponse) error,
) *PlaceStream {
	s := &PlaceStream{
		names: names, send: send, podsPerMessage: int(in.GetPodsPerMessage()),
		grouped: make([]bool, len(queue)), next: &stowagev1.PlaceStreamResponse{},
	}
	if in.PodsPerMessage == nil {
		s.podsPerMessage = defaultPodsPerMessage
	}
	for i := range queue {
		s.next.TotalCount += uint32(queue[i].Count)
	}
	for i := range groups {
		for _, e := range groups[i].Entries {
			s.grouped[e] = true
		}
	}
	return s
}

// Evicted implements engine.Watcher.
func (s *PlaceStream) Evicted(evictions []verdict.Eviction, pods int) error {
	s.next.EvictedCount = uint32(pods)
	for i := range evictions {
		s.next.Evictions = append(s.next.Evictions, s.names.eviction(&evictions[i]))
		s.pods += len(evictions[i].Victims)
		if err := s.flush(false); err != nil {
			return err
		}
	}
	return nil
}

// Placed implements engine.Watcher.
func (s *PlaceStream) Placed(entry int, node uint32) error {
	p := s.placement(entry)
	if p.Nodes == nil {
		p.Nodes = &stowagev1.NodeList{}
	}
	p.Nodes.Indexes = append(p.Nodes.Indexes, node)
	if s.names != nil {
		p.Nodes.Names = append(p.Nodes.Names, s.names[node])
	}
	s.next.PlacedCount++
	s.pods++
	return s.flush(s.grouped[entry])
}

// Entry implements engine.Watcher.
func (s *PlaceStream) Entry(entry int, p *verdict.Placement) error {
	if p.Unplaced == 0 && p.Scores == nil && p.Attempts == 0 {
		return nil
	}
	out := s.placement(entry)
	out.EvictedCount, out.AttemptCount = uint32(p.Evicted), p.Attempts
	out.TotalScores = p.Scores
	if p.Unplaced > 0 {
		out.UnplacedCount, out.UnattemptedCount = uint32(p.Unplaced), uint32(p.Unattempted)
		out.Message, out.InternalError = p.Message, p.Failed
		out.Rejections = s.names.rejections(p.Rejections)
		out.Explanation = s.names.explanation(p.Explanation)
		out.Changes = s.names.changes(p.Changes)
		out.Preemption = s.names.preemption(p.Preemption)
		s.next.UnplacedCount += uint32(p.Unplaced)
		s.pods += p.Unplaced
	}
	return s.flush(s.grouped[entry])
}

// Group implements engine.Watcher.
func (s *PlaceStream) Group(_ int, g *verdict.PodGroupPlacement) error {
	s.next.PodGroups = append(s.next.PodGroups, s.names.podGroup(g))
	if g.Preemption != nil {
		s.pods += g.Preemption.Listed()
	}
	return s.flush(false)
}

// End sends the last message. address is the content address of the cluster.
func (s *PlaceStream) End(p *verdict.Place, address string) error {
	if p.Partial {
		for i := range p.Placements {
			if p.Placements[i].Unattempted == 0 {
				continue
			}
			if err := s.Entry(i, &p.Placements[i]); err != nil {
				return err
			}
		}
		for i := range p.Groups {
			if p.Groups[i].Status == verdict.GroupUnattempted {
				s.next.PodGroups = append(s.next.PodGroups, s.names.podGroup(&p.Groups[i]))
			}
		}
	}
	s.next.SnapshotAddress, s.next.Partial, s.next.Doubts = address, p.Partial, doubts(p.Doubts)
	s.next.ClaimBindings, s.next.ClaimDevices = claimBindings(p.Bindings), claimDevices(p.Devices)
	return s.send(s.next)
}

// placement returns the placement of a queue entry in the next message.
func (s *PlaceStream) placement(entry int) *stowagev1.Placement {
	if n := len(s.next.Placements); n > 0 && s.next.Placements[n-1].QueueIndex == uint32(entry) {
		return s.next.Placements[n-1].Placement
	}
	p := &stowagev1.Placement{}
	s.next.Placements = append(s.next.Placements, &stowagev1.QueuePlacement{QueueIndex: uint32(entry), Placement: p})
	return p
}

// flush sends the next message if it has enough pods, unless the current group is incomplete.
func (s *PlaceStream) flush(inGroup bool) error {
	if s.pods < s.podsPerMessage || inGroup {
		return nil
	}
	err := s.send(s.next)
	s.pods = 0
	s.next = &stowagev1.PlaceStreamResponse{
		PlacedCount:   s.next.PlacedCount,
		UnplacedCount: s.next.UnplacedCount,
		EvictedCount:  s.next.EvictedCount,
		TotalCount:    s.next.TotalCount,
	}
	return err
}
