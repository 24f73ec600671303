package expect

import (
	"fmt"

	"github.com/stowage-scheduler/stowage/bench/parity/oracle"
	"github.com/stowage-scheduler/stowage/bench/parity/scenario"
	stowagev1 "github.com/stowage-scheduler/stowage/proto/stowage/v1"
)

// Grouped are the answers to Place for a case with pod groups.
type Grouped struct {
	// Alone has the placements of the entries without a group, nil for the others.
	Alone  []*stowagev1.Placement
	Groups []Group
	// Ran is what the oracle says of Groups.
	Ran []*oracle.Group
}

// Group is what may be answered about a group: each of Answers.
type Group struct {
	Entries []int
	Answers []GroupAnswer
}

// GroupAnswer is one answer about a group, and the placements of its entries.
type GroupAnswer struct {
	Group      *stowagev1.PodGroupPlacement
	Placements []*stowagev1.Placement
}

// Groups asks kube-scheduler for the answers to a case with pod groups. The scheduler must be fresh and is used up.
func Groups(c *scenario.Case, s *oracle.Scheduler) (*Grouped, error) {
	candidates := candidatesOf(c)
	choose := func(best []uint32) uint32 { return first(c, best) }
	out := &Grouped{Alone: make([]*stowagev1.Placement, len(c.Queue))}
	done := map[string]bool{}
	for i, entry := range c.Queue {
		name := oracle.GroupOf(s.Queue[i])
		if name == "" {
			p, err := s.PlaceEntry(i, entry.Count, choose)
			if err != nil {
				return nil, fmt.Errorf("queue[%d]: %w", i, err)
			}
			if out.Alone[i], err = placement(p, entry.Count, candidates); err != nil {
				return nil, err
			}
			continue
		}
		if done[name] {
			continue
		}
		done[name] = true
		ran, err := s.PlaceGroup(i, choose)
		if err != nil {
			return nil, fmt.Errorf("group %s: %w", name, err)
		}
		group := Group{Entries: ran.Entries}
		for j := range ran.Outcomes {
			answer, err := groupAnswer(c, s, name, ran, &ran.Outcomes[j])
			if err != nil {
				return nil, err
			}
			group.Answers = append(group.Answers, *answer)
		}
		out.Groups, out.Ran = append(out.Groups, group), append(out.Ran, ran)
	}
	return out, nil
}

func placement(p *oracle.Placement, count int, candidates []uint32) (*stowagev1.Placement, error) {
	out := &stowagev1.Placement{Nodes: &stowagev1.NodeList{Indexes: p.Nodes}, UnplacedCount: uint32(count - len(p.Nodes))}
	if p.Unplaced == nil {
		return out, nil
	}
	out.Message, out.InternalError = messageOf(p.Unplaced), p.Unplaced.Failed()
	var err error
	out.Rejections, err = unplaced(p.Unplaced, candidates)
	return out, err
}

func groupAnswer(c *scenario.Case, s *oracle.Scheduler, name string, ran *oracle.Group, o *oracle.Outcome) (*GroupAnswer, error) {
	group := &stowagev1.PodGroupPlacement{Name: name, Message: o.Message, InternalError: o.Failed}
	out := &GroupAnswer{Group: group}
	for i, entry := range ran.Entries {
		m := &o.Placements[i]
		p := &stowagev1.Placement{
			Nodes: &stowagev1.NodeList{Indexes: m.Nodes}, UnplacedCount: uint32(c.Queue[entry].Count - len(m.Nodes)),
			Message: m.Message, InternalError: m.Failed,
		}
		if m.Unplaced != nil {
			var err error
			if p.Rejections, err = unplaced(m.Unplaced, m.Candidates); err != nil {
				return nil, err
			}
		}
		group.PlacedCount += uint32(len(m.Nodes))
		group.UnplacedCount += p.UnplacedCount
		out.Placements = append(out.Placements, p)
	}
	if group.UnplacedCount > 0 {
		group.FirstUnplacedQueueIndex = new(uint32(ran.Entries[max(0, o.First)]))
	}
	switch {
	case group.PlacedCount == 0:
		group.Status = stowagev1.PodGroupStatus_POD_GROUP_STATUS_INFEASIBLE
		return out, nil
	case group.UnplacedCount == 0:
		group.Status = stowagev1.PodGroupStatus_POD_GROUP_STATUS_COMPLETE
	default:
		group.Status = stowagev1.PodGroupStatus_POD_GROUP_STATUS_BEST_EFFORT
	}
	if key := s.TopologyKey(ran.Entries[0]); key != "" {
		group.Domains = []*stowagev1.TopologyDomain{{TopologyKey: key, Value: o.Domain}}
	}
	return out, nil
}
