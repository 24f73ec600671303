package gang

import (
	"cmp"
	"context"
	"slices"

	"github.com/stowage-scheduler/stowage/engine/internal/joint"
	"github.com/stowage-scheduler/stowage/engine/verdict"
)

// consider reports whether a placement by pod is valid, and keeps it if it is the best so far.
func (j *Joining) consider(ctx context.Context, nodes []uint32) (valid bool, err error) {
	if slices.Contains(j.Rules.Rejected(j.spots(nodes)), true) {
		return false, nil
	}
	p := &placed{nodes: nodes, scores: make([]int64, len(nodes))}
	known := make(map[joint.Assignment]int64)
	defer j.state.Undo(j.state.Mark())
	assumed := 0 // the first pods, which all later ones see first
	for i, n := range nodes {
		at := joint.Assignment{Replicas: j.pods[i].replicas, Node: n}
		total, ok := known[at]
		if !ok {
			for ; assumed < i; assumed++ {
				j.assume(j.pods[assumed].replicas, j.pods[assumed].entry, nodes[assumed])
			}
			score, err := j.score(ctx, nodes, i, assumed)
			if err != nil {
				return false, err
			}
			place, found := slices.BinarySearch(score.Nodes, n)
			d := j.decisions[at.Replicas]
			if !found || d.Pod.NominatedNode != "" && d.Failure != nil {
				return false, nil
			}
			total = score.Totals[place]
			known[at] = total
		}
		p.scores[i] = total
		p.sum += total
	}
	if j.best == nil || p.sum > j.best.sum {
		j.best = p
	}
	return true, nil
}

func (j *Joining) spots(nodes []uint32) []joint.Assignment {
	spots := make([]joint.Assignment, len(nodes))
	for i, n := range nodes {
		spots[i] = joint.Assignment{Replicas: j.pods[i].replicas, Node: n}
	}
	return spots
}

// score scores the nodes for a pod, all others being where they go. The first pods are assumed already, not including the pod.
func (j *Joining) score(ctx context.Context, nodes []uint32, i, assumed int) (*verdict.Score, error) {
	defer j.state.Undo(j.state.Mark())
	for other := assumed; other < len(nodes); other++ {
		if p := j.pods[other]; other != i {
			j.assume(p.replicas, p.entry, nodes[other])
		}
	}
	d := j.decisions[j.pods[i].replicas]
	outcome, err := d.Filter(ctx, j.Candidates)
	if err != nil {
		return nil, err
	}
	return d.Score(ctx, outcome.Feasible.Indexes(), true)
}

// improve moves pods as long as a move raises the sum of scores, and reports whether no such move is left.
func (j *Joining) improve(ctx context.Context) (optimal bool, err error) {
	for unmoved, i := 0, 0; unmoved < len(j.pods); i = (i + 1) % len(j.pods) {
		if !j.Budget.Spend(1 + len(j.pods)) {
			return false, ctx.Err()
		}
		before := j.best
		if err := j.move(ctx, i); err != nil {
			return false, err
		}
		if unmoved++; j.best != before {
			unmoved = 0
		}
	}
	return true, nil
}

// move moves a pod to the best node that keeps the placement valid, if that raises the sum of scores.
func (j *Joining) move(ctx context.Context, i int) error {
	score, err := j.score(ctx, j.best.nodes, i, 0)
	if err != nil {
		return err
	}
	total := make([]int64, len(j.Order))
	for at, n := range score.Nodes {
		total[n] = score.Totals[at]
	}
	better := slices.DeleteFunc(slices.Clone(j.Order), func(n uint32) bool { return total[n] <= j.best.scores[i] })
	slices.SortStableFunc(better, func(a, b uint32) int { return cmp.Compare(total[b], total[a]) })
	nodes := slices.Clone(j.best.nodes)
	for _, n := range better {
		nodes[i] = n
		valid, err := j.consider(ctx, nodes)
		if valid || err != nil {
			return err
		}
	}
	return nil
}
