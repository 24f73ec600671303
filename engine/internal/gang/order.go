package gang

import (
	"cmp"
	"context"
	"errors"
	"slices"

	"github.com/stowage-scheduler/stowage/engine/internal/joint"
	"github.com/stowage-scheduler/stowage/engine/internal/nodeset"
	"github.com/stowage-scheduler/stowage/engine/internal/place"
	"github.com/stowage-scheduler/stowage/engine/verdict"
)

// InOrder places the pods one by one in several orders, and reports whether one of the placements is valid. The first order does
// not depend on the budget.
func (j *Joining) InOrder(ctx context.Context) (bool, error) {
	queues := j.queues()
	for j.tried < len(queues) {
		if j.tried > 0 && j.Budget.Exhausted() {
			return j.best != nil, ctx.Err()
		}
		if err := j.tryOrder(ctx, queues[j.tried]); err != nil {
			return false, err
		}
	}
	return j.best != nil, nil
}

// tryOrder places the pods one by one in the next order. It keeps them in j.parts before it scores them. If the deadline comes
// during the first order, it also keeps the pods placed so far.
func (j *Joining) tryOrder(ctx context.Context, queue []run) error {
	j.Budget.Spend(len(j.pods))
	first := j.tried == 0
	j.tried++
	pending := make([]place.Pending, len(queue))
	for i, run := range queue {
		pending[i] = place.Pending{Pod: j.group[run.entry].Pod, Count: run.count}
	}
	placements, err := j.placeInOrder(ctx, pending)
	j.cut = first && errors.Is(err, context.DeadlineExceeded)
	nodes := make([][]uint32, len(j.group))
	missing := false
	for i, run := range queue {
		nodes[run.entry] = append(nodes[run.entry], placements[i].Nodes...)
		missing = missing || placements[i].Unplaced > 0
	}
	if err != nil && (!j.cut || count(nodes) == 0) {
		return err
	}
	if kept := j.keepPart(ctx, nodes); kept != nil || err != nil {
		return cmp.Or(err, kept)
	}
	if !missing {
		_, err = j.consider(ctx, slices.Concat(nodes...))
	}
	return err
}

// placeInOrder places pods one by one. With an error, it returns the placements so far.
func (j *Joining) placeInOrder(ctx context.Context, pending []place.Pending) ([]verdict.Placement, error) {
	defer j.state.Undo(j.state.Mark())
	q, err := place.New(ctx, j.framework, j.state, j.Candidates, pending, place.Options{Seed: j.Seed, FewestPods: j.FewestPods})
	if err != nil {
		return q.Placements, err
	}
	silent := q.Within(j.Candidates, false)
	copy(silent.Classes, q.Classes)
	for i := range pending {
		if err := silent.Place(ctx, i, pending[i].Count, &q.Placements[i], nil); err != nil {
			return q.Placements, err
		}
	}
	return q.Placements, nil
}

// run is a number of consecutive pods of one entry.
type run struct{ entry, count int }

// queues returns the distinct orders in which to place the pods.
func (j *Joining) queues() [][]run {
	var given, turns []run
	for e := range j.group {
		if n := j.group[e].Count; n > 0 {
			given = append(given, run{e, n})
		}
	}
	reversed := slices.Clone(given)
	slices.Reverse(reversed)
	for turn, left := 0, len(j.pods); left > 0; turn++ {
		for e := range j.group {
			if turn < j.group[e].Count {
				turns = append(turns, run{e, 1})
				left--
			}
		}
	}
	queues := [][]run{given}
	if len(given) > 1 {
		queues = append(queues, reversed)
		if len(turns) > len(given) {
			queues = append(queues, turns)
		}
	}
	return queues
}

// keepPart removes the rejected pods from a placement by entry. It keeps the rest in j.parts if that is the largest part.
func (j *Joining) keepPart(ctx context.Context, nodes [][]uint32) error {
	var spots []joint.Assignment
	var entries []int
	for e := range nodes {
		for _, n := range nodes[e] {
			spots, entries = append(spots, joint.Assignment{Replicas: j.of[e], Node: n}), append(entries, e)
		}
	}
	for {
		wrong := j.Rules.Rejected(spots)
		if !slices.Contains(wrong, true) {
			if err := j.rejectWithNominated(ctx, spots, entries, wrong); err != nil {
				return err
			}
		}
		if !slices.Contains(wrong, true) {
			break
		}
		kept := 0
		for i := range spots {
			if !wrong[i] {
				spots[kept], entries[kept] = spots[i], entries[i]
				kept++
			}
		}
		spots, entries = spots[:kept], entries[:kept]
	}
	if j.parts != nil && len(spots) <= count(j.parts) {
		return nil
	}
	j.parts = make([][]uint32, len(j.group))
	for i, s := range spots {
		j.parts[entries[i]] = append(j.parts[entries[i]], s.Node)
	}
	return nil
}

// rejectWithNominated marks the pods whose nodes reject them when the nodes' nominated pods count.
func (j *Joining) rejectWithNominated(ctx context.Context, spots []joint.Assignment, entries []int, rejected []bool) error {
	if !j.state.AnyNominated() {
		return nil
	}
	for i, at := range spots {
		mark := j.state.Mark()
		for other, s := range spots {
			if other != i {
				j.assume(s.Replicas, entries[other], s.Node)
			}
		}
		outcome, err := j.decisions[at.Replicas].FilterAll(ctx, nodeset.Of(j.state.Len(), []uint32{at.Node}))
		j.state.Undo(mark)
		if err != nil {
			return err
		}
		rejected[i] = outcome.Feasible.Empty()
	}
	return nil
}
