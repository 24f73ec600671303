package gang

import (
	"context"
	"errors"
	"slices"

	"github.com/stowage-scheduler/stowage/engine/internal/joint"
	"github.com/stowage-scheduler/stowage/engine/verdict"
)

// A group with more pods than largeGroup that may be placed in part has too many subsets to try one after another.
const (
	largeGroup = 12
	largeSteps = 1 << 15 // of the search for a conflict of such a group
)

// largePart is the most pods of a large group.
type largePart struct {
	nodes   [][]uint32 // by entry; nil if they are too few
	optimal bool       // whether it is proven that there are no more
}

// placeLarge returns the most pods of a large group that are not placed as a whole in order, and adds to found.Steps; nil if it
// does not apply.
func (p *placer) placeLarge(ctx context.Context, g *queued, j *Joining, found *verdict.PodGroupPlacement) (*largePart, error) {
	if g.minimum == g.pods || g.pods <= largeGroup || p.State.AnyNominated() || !j.Rules.Packs() {
		return nil, nil
	}
	err := j.tryOrder(ctx, j.queues()[0])
	if j.best != nil || err != nil && !errors.Is(err, context.DeadlineExceeded) {
		return nil, err
	}
	if j.cut {
		return nil, err
	}
	if count(j.parts) == g.pods { // the deadline came before their scores
		return &largePart{j.parts, true}, nil
	}
	nodes, optimal, applies := p.mostPods(g, j)
	if !applies {
		return nil, nil
	}
	if optimal && (nodes == nil || count(nodes) < g.pods) {
		j.Budget.Limit = min(j.Budget.Limit, j.Budget.Steps+largeSteps)
		rules, minimal := j.conflict()
		g.conflict(found, rules, minimal)
	}
	found.Steps = min(j.Budget.Steps, g.limit())
	if count(j.parts) >= g.minimum && slices.Compare(j.byPriority(j.parts), j.byPriority(nodes)) > 0 {
		nodes, optimal = j.parts, false
	}
	return &largePart{nodes, optimal}, nil
}

// mostPods returns the nodes by entry of the most pods of a group, if that is at least the minimum, and whether there are no more:
// of the highest priority first, or if these are too few of all. applies is false if it does not know.
func (p *placer) mostPods(g *queued, j *Joining) (nodes [][]uint32, optimal, applies bool) {
	priorities := make([]int32, len(j.decisions))
	for i, pod := range j.pods {
		priorities[pod.replicas] = j.group[j.pods[i].entry].Pod.Template.Spec.Priority
	}
	var floor []joint.Assignment
	for e, on := range j.parts {
		for _, n := range on {
			floor = append(floor, joint.Assignment{Replicas: j.of[e], Node: n})
		}
	}
	alike := func() bool { return len(slices.Compact(slices.Clone(priorities))) <= 1 }
	for {
		spots, optimal := j.Rules.Most(j.Order, priorities, floor, j.Budget)
		switch {
		case slices.Contains(j.Rules.Rejected(spots), true):
			return nil, false, false
		case len(spots) >= g.minimum:
			return j.byEntry(spots), optimal, true
		case alike():
			return nil, optimal, true
		}
		clear(priorities)
	}
}

// byEntry returns the nodes by entry of some of the pods.
func (j *Joining) byEntry(spots []joint.Assignment) [][]uint32 {
	byReplicas := make(map[int][]uint32)
	for _, s := range spots {
		byReplicas[s.Replicas] = append(byReplicas[s.Replicas], s.Node)
	}
	nodes := make([][]uint32, len(j.group))
	for _, p := range j.pods {
		if left := byReplicas[p.replicas]; len(left) > 0 {
			nodes[p.entry] = append(nodes[p.entry], left[0])
			byReplicas[p.replicas] = left[1:]
		}
	}
	return nodes
}

// byPriority counts pods with nodes by entry, of the group's highest priority first.
func (j *Joining) byPriority(nodes [][]uint32) []int {
	var priorities []int32
	for e := range j.group {
		priorities = append(priorities, j.group[e].Pod.Template.Spec.Priority)
	}
	distinct := slices.Compact(slices.Sorted(slices.Values(priorities)))
	slices.Reverse(distinct)
	counts := make([]int, len(distinct))
	for e, on := range nodes {
		counts[slices.Index(distinct, priorities[e])] += len(on)
	}
	return counts
}
