package engine

import (
	"context"

	"github.com/stowage-scheduler/stowage/engine/api"
	"github.com/stowage-scheduler/stowage/engine/cluster"
	"github.com/stowage-scheduler/stowage/engine/nodeset"
	"github.com/stowage-scheduler/stowage/engine/verdict"
)

// Pending is a queue entry: Count equal pods in a row.
type Pending struct {
	Pod   api.Pod
	Count int
}

// PlaceOptions are the arguments of Place besides the queue.
type PlaceOptions struct {
	Profile    *api.Profile
	Candidates []uint32
	// Seed picks among the best nodes: 0 the one with the lowest index, otherwise the first in ascending order of
	// splitmix64(Seed xor FNV-1a-64(name)), then of index.
	Seed    uint64
	Explain bool
}

// Place decides where the pods of the queue go, one by one, each placed pod counting for the next.
// The result has one placement per queue entry.
func (c *Cluster) Place(ctx context.Context, queue []Pending, o PlaceOptions) ([]verdict.Placement, error) {
	p := &placing{
		state:      cluster.NewState(ctx, c.compiled),
		candidates: c.candidates(o.Candidates),
		order:      tieBreak(c.compiled.Names, o.Seed),
		options:    o,
	}
	placements := make([]verdict.Placement, len(queue))
	for i := range queue {
		if err := p.entry(ctx, i, &queue[i], &placements[i]); err != nil {
			return nil, err
		}
	}
	return placements, nil
}

// placing is one call of Place.
type placing struct {
	state      *cluster.State
	candidates nodeset.Set
	order      []uint64
	options    PlaceOptions
	listed     int // nodes in rejections so far
}

// entry places the pods of one queue entry. They are equal, and nothing changes when one finds no node, so the first
// that finds none speaks for those after it.
func (p *placing) entry(ctx context.Context, queue int, pending *Pending, result *verdict.Placement) error {
	pod := p.state.Compile(&pending.Pod)
	d := decide(p.state, pod, p.options.Profile)
	for len(result.Nodes) < pending.Count {
		outcome, err := d.filter(ctx, p.candidates)
		if err != nil {
			return err
		}
		if outcome.feasible.Empty() {
			result.Unplaced = pending.Count - len(result.Nodes)
			result.Message = outcome.message
			if p.listed += p.candidates.Len(); p.listed <= verdict.MaxListedNodes {
				result.Rejections = outcome.rejections
			}
			if p.options.Explain {
				result.Explanation, err = d.explain(ctx, p.candidates)
			}
			return err
		}
		node, err := p.choose(ctx, d, outcome.feasible.Indexes())
		if err != nil {
			return err
		}
		p.state.Assume(pod, node, queue)
		result.Nodes = append(result.Nodes, node)
	}
	return nil
}

func (p *placing) choose(ctx context.Context, d *decision, feasible []uint32) (uint32, error) {
	if len(feasible) == 1 {
		return feasible[0], nil
	}
	scored, err := d.score(ctx, feasible, true)
	if err != nil {
		return 0, err
	}
	chosen := scored.Best[0]
	if p.order != nil {
		for _, n := range scored.Best[1:] {
			if p.order[n] < p.order[chosen] {
				chosen = n
			}
		}
	}
	return chosen, nil
}
