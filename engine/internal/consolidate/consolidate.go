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
	"slices"

	"github.com/stowage-scheduler/stowage/engine/api"
	"github.com/stowage-scheduler/stowage/engine/internal/cluster"
	"github.com/stowage-scheduler/stowage/engine/internal/decide"
	"github.com/stowage-scheduler/stowage/engine/internal/drain"
	"github.com/stowage-scheduler/stowage/engine/internal/nodeset"
	"github.com/stowage-scheduler/stowage/engine/internal/parallel"
	"github.com/stowage-scheduler/stowage/engine/internal/provision"
	"github.com/stowage-scheduler/stowage/engine/internal/saturating"
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
	// Seed, FewestPods and Terminating are those of drain.Options.
	Seed        uint64
	FewestPods  bool
	Terminating bool
	// Steps bounds the search. What is done in any case is not bounded: draining each candidate that is left.
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
	open  trials
}

// state is the cluster after some actions. It does not change.
type state struct {
	cluster *cluster.Cluster
	number  []uint32 // by node of the cluster, its index in the answer
	alive   []int    // candidates that are left, ascending
	counts  []int    // new nodes by template
	added   int
	cost    int64
	actions []verdict.ConsolidateAction
	lists   drain.Lists     // what the lists of further drains may have
	came    map[uint32]bool // nodes of the answer to which pods came in the last action
	weights *drain.Weights  // by position in alive; nil until needed
	free    drain.Amounts   // on all nodes, with weights
	// Until there are weights: those of the state before, and by position in alive that of a node to which no pods came.
	before *drain.Weights
	same   []*drain.Weight
}

// trials are drains of a state's candidates, with one more node of a template, of none if it is negative.
type trials struct {
	of       *state
	template int
	with     *cluster.Cluster
	drains   *drain.Trials
	node     []uint32 // by position in of.alive
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
	c, err := s.fleet.Base().With(ctx, &api.Change{Added: firsts})
	if err != nil {
		return err
	}
	for t := range s.Templates {
		s.room = append(s.room, drain.FreeOn(c, uint32(s.fleet.Base().Len()+t)))
	}
	return nil
}

// on returns drains of a state's candidates with one more node of a template, of none if it is negative.
func (s *solver) on(ctx context.Context, of *state, template int) (*trials, error) {
	if s.open.of == of && s.open.template == template {
		return &s.open, nil
	}
	s.open = trials{}
	x := trials{of: of, template: template, with: of.cluster, node: make([]uint32, 0, len(of.alive))}
	if template >= 0 {
		var err error
		added := s.fleet.Node(template, of.counts[template])
		if x.with, err = of.cluster.With(ctx, &api.Change{Added: []api.Node{added}}); err != nil {
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

// has reports whether all candidates of a set are left.
func (st *state) has(set []int) bool {
	return !slices.ContainsFunc(set, func(c int) bool { _, found := slices.BinarySearch(st.alive, c); return !found })
}

// saved returns what an action saves.
func (s *solver) saved(set []int, template int) (saved int64) {
	for _, c := range set {
		saved += s.Candidates[c].Price
	}
	if template >= 0 {
		saved -= s.Templates[template].Price
	}
	return saved
}

// allows reports whether an action may follow a state, as far as it can be told without trying it.
func (s *solver) allows(st *state, set []int, template int) bool {
	return len(st.actions) < s.Actions && st.has(set) && s.saved(set, template) > 0 &&
		(template < 0 || st.counts[template] < s.Templates[template].Most)
}

// weigh returns the weights of a state's candidates.
func (s *solver) weigh(ctx context.Context, st *state) (*drain.Weights, error) {
	if st.weights == nil {
		x, err := s.on(ctx, st, -1)
		if err != nil {
			return nil, err
		}
		same := func(i int) *drain.Weight {
			if st.same == nil {
				return nil
			}
			return st.same[i]
		}
		if st.weights, err = x.drains.Weigh(ctx, st.before, same); err != nil {
			return nil, err
		}
		st.before, st.same = nil, nil
		st.free = st.weights.Rest
		for i := range st.weights.Nodes {
			for r, amount := range st.weights.Nodes[i].Free {
				st.free[r] = saturating.Add(st.free[r], amount)
			}
		}
	}
	return st.weights, nil
}

// price returns the steps of trying to drain a set: one, and one for each pod that has to leave.
func (s *solver) price(ctx context.Context, st *state, set []int) (int, error) {
	w, err := s.weigh(ctx, st)
	if err != nil {
		return 0, err
	}
	steps := 1
	for _, c := range set {
		at, _ := slices.BinarySearch(st.alive, c)
		steps += w.Nodes[at].Pods
	}
	return steps, nil
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

// try reports for sets whether they can be drained, each on its own, with one more node of a template or none.
func (s *solver) try(ctx context.Context, st *state, template int, sets [][]int) ([]bool, error) {
	x, err := s.on(ctx, st, template)
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

// apply returns the state after an action that was tried.
func (s *solver) apply(ctx context.Context, st *state, template int, set []int) (*state, error) {
	x, err := s.on(ctx, st, template)
	if err != nil {
		return nil, err
	}
	nodes := x.nodes(set)
	d, after, err := x.drains.Apply(ctx, nodes)
	if err != nil {
		return nil, err
	}
	action := verdict.ConsolidateAction{
		Drain: d, Template: template, Before: st.cost, After: st.cost - s.saved(set, template),
	}
	next := &state{cluster: after, counts: st.counts, added: st.added, cost: action.After, lists: st.lists}
	number := slices.Clip(st.number)
	if template >= 0 {
		action.Node, action.Name = uint32(s.Cluster.Len()+st.added), s.fleet.Name(template, st.counts[template])
		number = append(number, action.Node)
		next.counts = slices.Clone(st.counts)
		next.counts[template]++
		next.added++
	}
	renumber(d, number)
	for node, n := range number {
		if _, removed := slices.BinarySearch(nodes, uint32(node)); !removed {
			next.number = append(next.number, n)
		}
	}
	next.came = make(map[uint32]bool)
	for i := range d.Moves {
		for _, n := range d.Moves[i].Nodes {
			next.came[n] = true
		}
	}
	next.lists.Cut(d)
	next.before = st.weights
	for at, c := range st.alive {
		if _, removed := slices.BinarySearch(nodes, x.node[at]); removed {
			continue
		}
		next.alive = append(next.alive, c)
		var same *drain.Weight
		if st.weights != nil && !next.came[s.Candidates[c].Node] {
			same = &st.weights.Nodes[at]
		}
		next.same = append(next.same, same)
	}
	next.actions = append(slices.Clip(st.actions), action)
	if next.cost < s.best.cost {
		s.best = next
	}
	return next, nil
}

// renumber sets the indexes of nodes in a drain to those of the answer.
func renumber(d *verdict.Drain, number []uint32) {
	of := func(nodes []uint32) []uint32 {
		out := make([]uint32, len(nodes))
		for i, n := range nodes {
			out[i] = number[n]
		}
		return out
	}
	d.Nodes = of(d.Nodes)
	for i := range d.Moves {
		m := &d.Moves[i]
		m.Pod.Node, m.Nodes = number[m.Pod.Node], of(m.Nodes)
	}
	for i := range d.Unplaced {
		d.Unplaced[i].Pod.Node = number[d.Unplaced[i].Pod.Node]
	}
	for i := range d.Blocked {
		d.Blocked[i].Pod.Node = number[d.Blocked[i].Pod.Node]
	}
}

// kept returns the candidates that are left, and why.
func (s *solver) kept(ctx context.Context, st *state) ([]verdict.KeptNode, error) {
	x, err := s.on(ctx, st, -1)
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
