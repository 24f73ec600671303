// Package provision finds nodes to add to a cluster so that the pods of a queue have nodes, for little cost.
//
// A solution is a count for each template. A trial places the whole queue, as Place does, on the cluster with the new nodes. New
// nodes follow the nodes of the cluster, by template and then by number. Only a trial decides whether a pod has a node; estimates
// merely propose counts to try.
//
// More nodes are not always better: they change scores, and a new zone changes spread minima. So a proof that no cheaper counts are
// as good needs a lower bound of the cost of any counts, or a trial of all cheaper counts.
package provision

import (
	"cmp"
	"context"
	"slices"

	"github.com/stowage-scheduler/stowage/engine/api"
	"github.com/stowage-scheduler/stowage/engine/internal/cluster"
	"github.com/stowage-scheduler/stowage/engine/internal/decide"
	"github.com/stowage-scheduler/stowage/engine/internal/gang"
	"github.com/stowage-scheduler/stowage/engine/internal/nodeset"
	"github.com/stowage-scheduler/stowage/engine/internal/parallel"
	"github.com/stowage-scheduler/stowage/engine/internal/place"
	"github.com/stowage-scheduler/stowage/engine/verdict"
)

// Problem is what nodes are to be found for.
type Problem struct {
	Cluster   *cluster.Cluster
	Framework *decide.Framework
	Profile   *api.Profile
	// Candidates are the nodes of the cluster that pods may be placed on.
	Candidates nodeset.Set
	Queue      []place.Pending
	Groups     []gang.PodGroup
	Seed       uint64
	// Templates have distinct names.
	Templates []Template
	MaxNodes  int
	// Domains has topology spread count the domains of all templates, including templates without nodes.
	Domains bool
	// Steps bounds the search; 0 for defaultSteps, or for the steps of defaultTrials if these are more. Mandatory work counts, too, so
	// more steps may be used: the trial without new nodes, and the explanation of unplaced pods.
	Steps int
	// Workers is the number of goroutines, at least 1. No result depends on it.
	Workers int
}

// solver is a search for one problem.
type solver struct {
	*Problem
	*Fleet
	*analysis
	least int64 // a lower bound of the cost if all pods are placed that are not known to be impossible
	used  int   // steps
	limit int   // of used
	// start is the trial without new nodes.
	start, best *trial
	activated   []int // as active returns it; nil before
	undecided   bool  // of any trial
}

// trial is counts of new nodes, and how the queue is placed with them.
type trial struct {
	counts []int
	cost   int64
	nodes  int
	result *verdict.Place
	placed int
	left   []int // unplaced pods by kind
	// undecided is set if a search for devices was not decided.
	undecided bool
}

// The budget of a search that has none.
const (
	defaultSteps  = 1 << 20
	defaultTrials = 40
)

// Find finds nodes to add.
func Find(ctx context.Context, p *Problem) (*verdict.Provision, error) {
	s := &solver{Problem: p}
	var err error
	if s.Fleet, err = NewFleet(ctx, p.Cluster, p.Templates); err != nil {
		return nil, err
	}
	if s.analysis, err = s.analyse(ctx); err != nil {
		return nil, err
	}
	if s.limit = s.Steps; s.limit == 0 {
		s.limit = max(defaultSteps, defaultTrials*s.stepsOf(0))
	}
	if s.least, err = s.bound(ctx); err != nil {
		return nil, err
	}
	tried, err := s.try(ctx, [][]int{make([]int, len(p.Templates))})
	if err != nil {
		return nil, err
	}
	s.start, s.best = tried[0], tried[0]
	for _, phase := range []func(context.Context) error{s.grow, s.restart, s.shrink, s.exchange} {
		if err := phase(ctx); err != nil {
			return nil, err
		}
	}
	out := &verdict.Provision{}
	if err := s.prove(ctx, out); err != nil {
		return nil, err
	}
	if s.best.placed < s.pods {
		s.used += s.stepsOf(s.best.nodes)
		explained, err := s.place(ctx, s.best.counts, s.nodes(s.best.counts, -1), true)
		if err != nil {
			return nil, err
		}
		s.best = explained
	}
	out.Place, out.Counts, out.Cost = *s.best.result, make([]uint32, len(p.Templates)), s.best.cost
	for t, n := range s.best.counts {
		out.Counts[t] = uint32(n)
		for i := range n {
			out.Names = append(out.Names, s.Name(t, i))
		}
	}
	if err := s.explain(ctx, out); err != nil {
		return nil, err
	}
	out.Steps, out.Undecided, out.Optimal = s.used, s.best.undecided, out.Optimal && !s.undecided
	return out, nil
}

// nodes returns the new nodes of counts, and an additional one of a template unless it is negative.
func (s *solver) nodes(counts []int, additional int) []api.Node {
	var nodes []api.Node
	for t, n := range counts {
		for i := range n {
			nodes = append(nodes, s.Node(t, i))
		}
	}
	if additional >= 0 {
		nodes = append(nodes, s.Node(additional, counts[additional]))
	}
	return nodes
}

// with returns the cluster with new nodes, and the candidates there. With Domains, nodes that are no candidates follow the new
// ones.
func (s *solver) with(ctx context.Context, nodes []api.Node) (*cluster.Cluster, nodeset.Set, error) {
	var others []api.Node
	if s.Domains {
		others = s.Placeholders()
	}
	c, err := s.base.With(ctx, s.Adding(nodes, others...))
	if err != nil {
		return nil, nil, err
	}
	candidates := nodeset.New(c.Len())
	copy(candidates, s.Candidates)
	for n := s.base.Len(); n < s.base.Len()+len(nodes); n++ {
		candidates.Add(uint32(n))
	}
	return c, candidates, nil
}

// batch is how many counts are tried at a time. It does not depend on the number of workers, so that no result does.
const batch = 4

// MaxTrials is the number of trials kept at a time: the trials of a batch, the trial without new nodes and the best one.
const MaxTrials = batch + 2

// try places the queue with counts.
func (s *solver) try(ctx context.Context, all [][]int) ([]*trial, error) {
	nodes := make([][]api.Node, len(all))
	for i, counts := range all {
		nodes[i] = s.nodes(counts, -1)
		s.used += s.stepsOf(len(nodes[i]))
	}
	tried := make([]*trial, 0, len(all))
	err := parallel.Each(ctx, len(all), parallel.Options[*trial]{Workers: s.Workers},
		func(ctx context.Context, i int) (*trial, error) { return s.place(ctx, all[i], nodes[i], false) },
		func(_ int, t *trial) error {
			s.undecided = s.undecided || t.undecided
			tried = append(tried, t)
			return nil
		})
	return tried, err
}

// stepsOf returns the steps of placing the queue on the cluster with a number of new nodes: about the microseconds that it takes.
func (s *solver) stepsOf(added int) int {
	nodes := s.base.Len() + added
	return 1 + s.pods + nodes/4 + len(s.kinds)*(64+nodes/64)
}

// affords reports how many of a number of trials with some new nodes there are steps for.
func (s *solver) affords(trials, added int) int {
	return max(0, min(trials, (s.limit-s.used)/s.stepsOf(added)))
}

// firstOf tries counts, in their order, until use accepts a trial.
func (s *solver) firstOf(ctx context.Context, all [][]int, use func(*trial) bool) (bool, error) {
	for len(all) > 0 {
		now := all[:min(batch, len(all))]
		now = now[:s.affords(len(now), most(now))]
		if len(now) == 0 {
			return false, nil
		}
		tried, err := s.try(ctx, now)
		if err != nil {
			return false, err
		}
		if slices.ContainsFunc(tried, use) {
			return true, nil
		}
		all = all[len(now):]
	}
	return false, nil
}

// most returns the number of nodes of the largest counts.
func most(all [][]int) (nodes int) {
	for _, counts := range all {
		nodes = max(nodes, sum(counts))
	}
	return nodes
}

func sum(counts []int) (all int) {
	for _, n := range counts {
		all += n
	}
	return all
}

// place places the queue on the cluster with new nodes. The result reports why pods are unplaced only if explain is set, because
// explaining costs as much as placing them.
func (s *solver) place(ctx context.Context, counts []int, nodes []api.Node, explain bool) (*trial, error) {
	c, candidates, err := s.with(ctx, nodes)
	if err != nil {
		return nil, err
	}
	q, err := place.New(ctx, s.Framework, cluster.NewState(ctx, c), candidates, s.Queue, place.Options{Seed: s.Seed})
	if err != nil {
		return nil, err
	}
	if !explain {
		silent := q.Within(candidates, false)
		silent.Classes = q.Classes
		q = silent
	}
	groups := make([]verdict.PodGroupPlacement, len(s.Groups))
	if err := gang.Place(ctx, q, s.Profile, s.Groups, groups); err != nil {
		return nil, err
	}
	if err := s.retry(ctx, q); err != nil {
		return nil, err
	}
	t := &trial{
		counts: counts, nodes: len(nodes), undecided: q.State.Undecided() != nil,
		result: &verdict.Place{Placements: q.Placements, Groups: groups, Bindings: q.State.ClaimBindings(), Devices: q.State.PodDevices()},
		left:   make([]int, len(s.kinds)),
	}
	for i, n := range counts {
		t.cost += int64(n) * s.Templates[i].Price
	}
	for e := range q.Placements {
		t.placed += len(q.Placements[e].Nodes)
		if k := s.kindOf[e]; k != nil {
			t.left[k.index] += q.Placements[e].Unplaced
		}
	}
	return t, nil
}

// better reports whether a trial is better than another one: more pods are placed, for less, on fewer nodes.
func (t *trial) better(other *trial) bool {
	return cmp.Or(cmp.Compare(other.placed, t.placed), cmp.Compare(t.cost, other.cost), cmp.Compare(t.nodes, other.nodes)) < 0
}

// complete reports whether all pods are placed that are not known to be impossible.
func (s *solver) complete(t *trial) bool { return t.placed == s.target }
