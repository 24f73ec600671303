// Package consolidate finds actions after which the nodes of a cluster cost less, while all their pods have nodes.
//
// An action adds one node of a template or none, drains candidates together as package drain does, and removes them. It
// happens only if the drain ends well, if no pod comes back to a drained node, and if the cost falls. The next action begins
// with the cluster after that, so that every answer is a sequence of drains that were tried. All that is estimated only
// proposes actions.
//
// Actions are found greedily first: candidates that can go without a new node, then sets that one new node replaces, then
// candidates that one new node replaces, until nothing more is found. Where few candidates are left that may go, all
// sequences are tried after that. A lower bound of the cost ends the search early.
package consolidate

import (
	"context"
	"errors"

	"github.com/stowage-scheduler/stowage/engine/api"
	"github.com/stowage-scheduler/stowage/engine/internal/cluster"
	"github.com/stowage-scheduler/stowage/engine/internal/decide"
	"github.com/stowage-scheduler/stowage/engine/internal/drain"
	"github.com/stowage-scheduler/stowage/engine/internal/parallel"
	"github.com/stowage-scheduler/stowage/engine/internal/provision"
	"github.com/stowage-scheduler/stowage/engine/verdict"
)

// Candidate is a node that may be removed.
type Candidate struct {
	Node  uint32
	Price int64
}

// Problem is the cluster whose nodes are to cost less.
type Problem struct {
	Cluster   *cluster.Cluster
	Framework *decide.Framework
	// Candidates are ascending by node. The sum of their prices is an int64.
	Candidates []Candidate
	// Templates have distinct names. Most of each is at least 0.
	Templates []provision.Template
	// Actions bounds the actions, and Nodes the nodes that one of them removes, both at least 1.
	Actions, Nodes int
	// Seed, FewestPods and Terminating are fields of drain.Options.
	Seed        uint64
	FewestPods  bool
	Terminating bool
	// Steps bounds the search. Draining each remaining candidate once is always done, and not bounded.
	Steps int
	// Partial returns the actions so far where the context's deadline ends the search.
	Partial bool
	// Workers is the number of goroutines, at least 1. No result depends on it.
	Workers int
}

// solver is a search for one problem. Candidates are known by their index in Problem.Candidates.
type solver struct {
	*Problem
	fleet *provision.Fleet
	room  []drain.Amounts // by template, free on a new node
	root  *state
	best  *state
	bound int64
	steps int
	cut   bool // whether the budget of steps ended the search
	// undecided is set if a search for devices was not decided in a trial before the open ones.
	undecided bool
	open      trials
}

// Find finds actions.
func Find(ctx context.Context, p *Problem) (*verdict.Consolidation, error) {
	s := &solver{Problem: p}
	err := s.search(ctx)
	partial := p.Partial && errors.Is(err, context.DeadlineExceeded)
	if err != nil && !partial {
		return nil, err
	}
	out := &verdict.Consolidation{Before: s.total(), After: s.total(), Bound: s.bound, Partial: partial, Steps: s.steps}
	if s.best == nil {
		return out, nil
	}
	out.Actions, out.After, out.Optimal = s.best.actions, s.best.cost, s.best.cost == s.bound
	if partial {
		return out, nil
	}
	out.Kept, err = s.kept(ctx, s.best)
	if p.Partial && errors.Is(err, context.DeadlineExceeded) {
		out.Kept, out.Partial, err = nil, true, nil
	}
	if err != nil {
		return nil, err
	}
	return out, nil
}

// total returns the cost before the first action.
func (s *solver) total() (cost int64) {
	for _, c := range s.Candidates {
		cost += c.Price
	}
	return cost
}

// search sets the best state and the bound.
func (s *solver) search(ctx context.Context) error {
	var err error
	if s.fleet, err = provision.NewFleet(ctx, s.Cluster, s.Templates); err != nil {
		return err
	}
	root := &state{
		cluster: s.fleet.Base(), number: make([]uint32, s.Cluster.Len()), alive: make([]int, len(s.Candidates)),
		counts: make([]int, len(s.Templates)), cost: s.total(), lists: drain.NewLists(),
	}
	for i := range root.number {
		root.number[i] = uint32(i)
	}
	for i := range root.alive {
		root.alive[i] = i
	}
	s.root, s.best = root, root
	if err := s.measure(ctx); err != nil {
		return err
	}
	if s.bound, err = s.boundOf(ctx, root); err != nil {
		return err
	}
	if err := s.greedy(ctx); err != nil {
		return err
	}
	return s.exhaust(ctx)
}

// measure finds what is free on new nodes.
func (s *solver) measure(ctx context.Context) error {
	if len(s.Templates) == 0 {
		return nil
	}
	firsts := make([]api.Node, len(s.Templates))
	for t := range s.Templates {
		firsts[t] = s.fleet.Node(t, 0)
	}
	c, err := s.fleet.Base().With(ctx, &api.Delta{Added: firsts})
	if err != nil {
		return err
	}
	for t := range s.Templates {
		s.room = append(s.room, drain.FreeOn(c, uint32(s.fleet.Base().Len()+t)))
	}
	return nil
}

// spend takes steps off the budget, and reports whether there were as many.
func (s *solver) spend(steps int) bool {
	if s.steps+steps > s.Steps {
		s.cut = true
		return false
	}
	s.steps += steps
	return true
}

// kept returns the candidates that are left, and why.
func (s *solver) kept(ctx context.Context, st *state) ([]verdict.KeptNode, error) {
	x, err := s.trialsOf(ctx, st, -1)
	if err != nil {
		return nil, err
	}
	out, lists := make([]verdict.KeptNode, 0, len(st.alive)), st.lists
	err = parallel.Each(ctx, len(st.alive), parallel.Options[verdict.KeptNode]{Workers: s.Workers},
		func(_ context.Context, i int) (verdict.KeptNode, error) {
			d, returned, err := x.drains.Drain(ctx, x.node[i:i+1:i+1], false)
			if err != nil {
				return verdict.KeptNode{}, err
			}
			d.Moves = nil
			renumber(d, st.number)
			k := verdict.KeptNode{Drain: d, Reason: verdict.KeptByLimit}
			switch {
			case d.Status != verdict.Drained:
				k.Reason = verdict.KeptForPods
			case returned:
				k.Reason = verdict.KeptForReturn
			case s.Candidates[st.alive[i]].Price == 0:
				k.Reason = verdict.KeptForPrice
			}
			return k, nil
		},
		func(_ int, k verdict.KeptNode) error {
			lists.Cut(k.Drain)
			out = append(out, k)
			return nil
		})
	return out, err
}
