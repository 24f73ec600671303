package consolidate

import (
	"context"
	"slices"

	"github.com/stowage-scheduler/stowage/engine/internal/drain"
	"github.com/stowage-scheduler/stowage/engine/verdict"
)

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

// allows reports whether an action may follow a state, as far as this is known without a trial.
func (s *solver) allows(st *state, set []int, template int) bool {
	return len(st.actions) < s.Actions && st.has(set) && s.saved(set, template) > 0 &&
		(template < 0 || st.counts[template] < s.Templates[template].Most)
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

// apply returns the state after an action that was tried.
func (s *solver) apply(ctx context.Context, st *state, template int, set []int) (*state, error) {
	x, err := s.trialsOf(ctx, st, template)
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

// renumber replaces the node indexes in a drain by the indexes of the answer.
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
