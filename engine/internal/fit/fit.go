// Package fit counts how many more pods fit: it places units of a mix until a pod of a unit has no feasible node.
package fit

import (
	"context"
	"slices"
	"sync/atomic"

	"github.com/stowage-scheduler/stowage/engine/internal/cluster"
	"github.com/stowage-scheduler/stowage/engine/internal/decide"
	"github.com/stowage-scheduler/stowage/engine/internal/nodeset"
	"github.com/stowage-scheduler/stowage/engine/internal/place"
	"github.com/stowage-scheduler/stowage/engine/verdict"
)

const (
	// MaxPods bounds the pods that are placed in one count.
	MaxPods = 1_000_000
	// MaxDomains bounds the domains of Problem.Key.
	MaxDomains = 10_000
)

// Problem is what is counted.
type Problem struct {
	Cluster    *cluster.Cluster
	Framework  *decide.Framework
	Candidates nodeset.Set
	// Mix is the pods of a unit, at most MaxPods.
	Mix []place.Pending
	// Units is the number of units to stop at.
	Units int
	// Seed and FewestPods break ties, as place.Options.
	Seed       uint64
	FewestPods bool
	// Key is the topology key of Fit.Domains, with at most MaxDomains domains; empty for none.
	Key string
	// Changes requests Fit.Changes, Explain requests Fit.Explanation.
	Changes, Explain bool

	undecided *atomic.Bool // set once a search for devices was not decided in any count
}

// Count places units on each pod's best nodes, until a pod has none or the limit is reached. It also returns whether a search for devices
// was not decided.
func Count(ctx context.Context, p *Problem) (result *verdict.Fit, undecided bool, err error) {
	p.undecided = &atomic.Bool{}
	result, err = p.count(ctx)
	return result, p.undecided.Load(), err
}

func (p *Problem) count(ctx context.Context) (*verdict.Fit, error) {
	q, err := p.queue(ctx, cluster.NewState(ctx, p.Cluster))
	if err != nil {
		return nil, err
	}
	f, err := p.fill(ctx, q)
	if err != nil {
		return nil, err
	}
	result := &verdict.Fit{Units: f.units, Limited: f.binding < 0, Binding: f.binding}
	for e, nodes := range f.nodes {
		f.nodes[e] = nodes[:f.units*p.Mix[e].Count]
		result.Pods = append(result.Pods, podsOn(f.nodes[e]))
	}
	if !result.Limited {
		if err := p.explain(ctx, q, result); err != nil {
			return nil, err
		}
	}
	if p.Key != "" {
		result.Domains, err = p.domains(ctx, f.nodes)
	}
	return result, err
}

// limit returns the number of units to stop at.
func (p *Problem) limit() int {
	pods := 0
	for i := range p.Mix {
		pods += p.Mix[i].Count
	}
	return min(p.Units, MaxPods/pods)
}

// queue returns a queue that places the mix in a state.
func (p *Problem) queue(ctx context.Context, s *cluster.State) (*place.Queue, error) {
	pending := slices.Clone(p.Mix)
	for i := range pending {
		pending[i].Count *= p.limit() // the number of pods decides how they are placed
	}
	return place.New(ctx, p.Framework, s, p.Candidates, pending, place.Options{Seed: p.Seed, FewestPods: p.FewestPods})
}

// filled is units that were placed.
type filled struct {
	units int
	// nodes are the nodes of the placed pods by entry of the mix, in the order of placement, including placed pods of the next unit.
	nodes   [][]uint32
	binding int // the entry whose pod has no feasible node, -1 if the limit was reached
}

// fill places units in a queue. The pods stay assumed, including pods of the unit that does not fit.
func (p *Problem) fill(ctx context.Context, q *place.Queue) (*filled, error) {
	defer p.noteUndecided(q.State)
	f := &filled{nodes: make([][]uint32, len(p.Mix)), binding: -1}
	var scanned verdict.Placement
	for limit := p.limit(); f.units < limit; f.units++ {
		for e := range p.Mix {
			for range p.Mix[e].Count {
				node, found, err := q.Next(ctx, q.Classes[e], &scanned)
				if err != nil {
					return nil, err
				}
				if !found {
					f.binding = e
					return f, nil
				}
				q.Assume(e, node)
				f.nodes[e] = append(f.nodes[e], node)
			}
		}
	}
	return f, nil
}

func (p *Problem) noteUndecided(s *cluster.State) {
	if s.Undecided() != nil {
		p.undecided.Store(true)
	}
}

// podsOn counts pods by node.
func podsOn(nodes []uint32) verdict.FitPods {
	var out verdict.FitPods
	for _, n := range slices.Sorted(slices.Values(nodes)) {
		if last := len(out.Nodes) - 1; last >= 0 && out.Nodes[last] == n {
			out.Counts[last]++
		} else {
			out.Nodes, out.Counts = append(out.Nodes, n), append(out.Counts, 1)
		}
	}
	return out
}

// explain sets what binds, and the changes with which more units fit. The queue has just failed to place a pod.
func (p *Problem) explain(ctx context.Context, q *place.Queue, result *verdict.Fit) error {
	c := q.Classes[result.Binding]
	outcome, err := q.Rejected(ctx, c)
	if err != nil {
		return err
	}
	result.Rejections, result.Message = outcome.Rejections, outcome.Message
	result.Failed = c.Error(q.Candidates.Len()) != ""
	if p.Explain {
		if result.Explanation, err = c.Decision.Explain(ctx, q.Candidates); err != nil {
			return err
		}
	}
	if p.Changes && outcome.Feasible.Empty() {
		result.Changes, err = p.changes(ctx, c.Decision, result)
	}
	return err
}
