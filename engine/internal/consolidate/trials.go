package consolidate

import (
	"context"
	"slices"

	"github.com/stowage-scheduler/stowage/engine/api"
	"github.com/stowage-scheduler/stowage/engine/internal/cluster"
	"github.com/stowage-scheduler/stowage/engine/internal/drain"
	"github.com/stowage-scheduler/stowage/engine/internal/nodeset"
	"github.com/stowage-scheduler/stowage/engine/internal/parallel"
	"github.com/stowage-scheduler/stowage/engine/verdict"
)

// trials are drains of a state's candidates, with one more node of a template, of none if it is negative.
type trials struct {
	of       *state
	template int
	with     *cluster.Cluster
	drains   *drain.Trials
	node     []uint32 // by position in of.alive
}

// trialsOf returns drains of a state's candidates with one more node of a template, of none if it is negative.
func (s *solver) trialsOf(ctx context.Context, of *state, template int) (*trials, error) {
	if s.open.of == of && s.open.template == template {
		return &s.open, nil
	}
	s.undecided = s.hasUndecided()
	s.open = trials{}
	x := trials{of: of, template: template, with: of.cluster, node: make([]uint32, 0, len(of.alive))}
	if template >= 0 {
		var err error
		added := s.fleet.Node(template, of.counts[template])
		if x.with, err = of.cluster.With(ctx, s.fleet.Adding([]api.Node{added})); err != nil {
			return nil, err
		}
	}
	next := 0
	for node, number := range of.number {
		if next < len(of.alive) && s.Candidates[of.alive[next]].Node == number {
			x.node = append(x.node, uint32(node))
			next++
		}
	}
	var err error
	x.drains, err = drain.NewTrials(ctx, s.Framework, x.with, &drain.Options{
		Nodes: x.node, Targets: nodeset.Full(x.with.Len()), Seed: s.Seed, FewestPods: s.FewestPods, Terminating: s.Terminating,
		Moves: true, Workers: s.Workers, Filters: drain.Filters{DeleteEmptyDirData: true},
	})
	if err != nil {
		return nil, err
	}
	pods, budgets := x.drains.Kinds()
	s.steps += 1 + (x.with.Len()+pods)/derivedOfStep + budgets/setsOfStep
	s.cut = s.cut || s.steps > s.Steps
	s.open = x
	return &s.open, nil
}

// hasUndecided reports whether a search for devices was not decided in any trial.
func (s *solver) hasUndecided() bool {
	return s.undecided || s.open.drains != nil && s.open.drains.Undecided()
}

// derivedOfStep is how many nodes, and kinds of pods on candidates, of a cluster that is derived take a step.
const derivedOfStep = 16

// nodes returns the nodes of candidates, both ascending.
func (x *trials) nodes(set []int) []uint32 {
	out := make([]uint32, len(set))
	for i, c := range set {
		at, _ := slices.BinarySearch(x.of.alive, c)
		out[i] = x.node[at]
	}
	return out
}

// try reports for sets whether they can be drained, each on its own, with one more node of a template or none.
func (s *solver) try(ctx context.Context, st *state, template int, sets [][]int) ([]bool, error) {
	x, err := s.trialsOf(ctx, st, template)
	if err != nil {
		return nil, err
	}
	can := make([]bool, 0, len(sets))
	err = parallel.Each(ctx, len(sets), parallel.Options[bool]{Workers: s.Workers},
		func(_ context.Context, i int) (bool, error) { // the drains have the context of all calls
			d, returned, err := x.drains.Drain(ctx, x.nodes(sets[i]), true)
			return err == nil && d.Status == verdict.Drained && !returned, err
		},
		func(_ int, ok bool) error {
			can = append(can, ok)
			return nil
		})
	return can, err
}
