package gang

import (
	"cmp"
	"context"
	"slices"

	"github.com/stowage-scheduler/stowage/engine/internal/cluster"
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
	first := j.front()
	defer first.undo()
	for i, n := range nodes {
		at := joint.Assignment{Replicas: j.pods[i].replicas, Node: n}
		total, ok := known[at]
		if !ok {
			first.assume(nodes, i)
			score, err := j.score(ctx, nodes, i)
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

// front is the pods before the one that is scored, which stay assumed for the next one.
type front struct {
	*Joining
	mark cluster.Mark
	pods int
}

func (j *Joining) front() *front { return &front{Joining: j, mark: j.state.Mark()} }

// assume assumes the first pods of a placement, of which the ones that are assumed have not moved.
func (f *front) assume(nodes []uint32, pods int) {
	if pods < f.pods {
		f.undo()
	}
	for ; f.pods < pods; f.pods++ {
		f.Joining.assume(f.Joining.pods[f.pods].replicas, f.Joining.pods[f.pods].entry, nodes[f.pods])
	}
}

func (f *front) undo() {
	f.state.Undo(f.mark)
	f.pods = 0
}

// score scores the nodes for a pod, all others being where they go. The pods before it are assumed.
func (j *Joining) score(ctx context.Context, nodes []uint32, i int) (*verdict.Score, error) {
	defer j.state.Undo(j.state.Mark())
	for other := i + 1; other < len(nodes); other++ {
		p := j.pods[other]
		j.assume(p.replicas, p.entry, nodes[other])
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
	first := j.front()
	defer first.undo()
	for unmoved, i := 0, 0; unmoved < len(j.pods); i = (i + 1) % len(j.pods) {
		if !j.Budget.Spend(1 + len(j.pods)) {
			return false, ctx.Err()
		}
		before := j.best
		if err := j.move(ctx, first, i); err != nil {
			return false, err
		}
		if unmoved++; j.best != before {
			unmoved = 0
		}
	}
	return true, nil
}

// move moves a pod to the best node that keeps the placement valid, if that raises the sum of scores.
func (j *Joining) move(ctx context.Context, first *front, i int) error {
	first.assume(j.best.nodes, i)
	score, err := j.score(ctx, j.best.nodes, i)
	if err != nil {
		return err
	}
	total := make([]int64, len(j.Order))
	for at, n := range score.Nodes {
		total[n] = score.Totals[at]
	}
	better := slices.DeleteFunc(slices.Clone(j.Order), func(n uint32) bool { return total[n] <= j.best.scores[i] })
	slices.SortStableFunc(better, func(a, b uint32) int { return cmp.Compare(total[b], total[a]) })
	if len(better) == 0 {
		return nil
	}
	first.undo()
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
