package engine

import (
	"cmp"
	"context"
	"slices"

	"github.com/stowage-scheduler/stowage/engine/internal/doubt"
	"github.com/stowage-scheduler/stowage/engine/verdict"
)

// provisionByPriority is Provision with the queue in kube-scheduler's order
// (pkg/scheduler/framework/plugins/queuesort/priority_sort.go, v1.37): by priority, then by position in the queue. The pods of a
// group have the priority of the group.
func (c *Cluster) provisionByPriority(
	ctx context.Context, queue []Pending, o ProvisionOptions, groups []PodGroup,
) (*verdict.Provision, error) {
	order := byPriority(queue, groups)
	place := make([]int, len(queue)) // of each entry in the order
	sorted := make([]Pending, len(queue))
	for i, entry := range order {
		sorted[i], place[entry] = queue[entry], i
	}
	moved := slices.Clone(groups)
	for i := range moved {
		moved[i].Entries = slices.Clone(moved[i].Entries)
		for j, entry := range moved[i].Entries {
			moved[i].Entries[j] = place[entry]
		}
		slices.Sort(moved[i].Entries)
	}
	out, err := c.provision(ctx, sorted, o, moved)
	if err != nil {
		return nil, err
	}
	placements := make([]verdict.Placement, len(queue))
	for i, entry := range order {
		placements[entry] = out.Place.Placements[i]
	}
	out.Place.Placements = placements
	for i := range out.Place.Groups {
		if g := &out.Place.Groups[i]; g.First >= 0 {
			g.First = order[g.First]
		}
	}
	for i := range out.Place.Bindings {
		out.Place.Bindings[i].Queue = order[out.Place.Bindings[i].Queue]
	}
	for i := range out.Place.Devices {
		out.Place.Devices[i].Queue = order[out.Place.Devices[i].Queue]
	}
	for i := range out.Unplaced {
		out.Unplaced[i].Entry = order[out.Unplaced[i].Entry]
	}
	slices.SortFunc(out.Unplaced, func(a, b verdict.Unprovisioned) int { return cmp.Compare(a.Entry, b.Entry) })
	out.Place.Doubts = doubt.OfQueue(o.Profile, queue, groups, c.undecided(out.Undecided))
	return out, nil
}

// byPriority returns the entries of a queue in the order in which kube-scheduler attempts them.
func byPriority(queue []Pending, groups []PodGroup) []int {
	order, priority := make([]int, len(queue)), make([]int32, len(queue))
	for i := range queue {
		order[i], priority[i] = i, queue[i].Pod.Template.Spec.Priority
	}
	for i := range groups {
		for _, entry := range groups[i].Entries {
			if groups[i].Priority != nil {
				priority[entry] = *groups[i].Priority
			}
		}
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(priority[b], priority[a]) })
	return order
}
