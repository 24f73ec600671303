package consolidate

import (
	"cmp"
	"context"
	"math"
	"math/bits"
	"slices"

	"github.com/stowage-scheduler/stowage/engine/internal/drain"
	"github.com/stowage-scheduler/stowage/engine/internal/saturating"
)

// greedy applies actions until none is found, or the best state costs the bound.
func (s *solver) greedy(ctx context.Context) error {
	st := s.root
	for {
		before := st
		for _, phase := range []func(context.Context, *state) (*state, error){s.delete, s.replaceSets, s.replace} {
			var err error
			if st, err = phase(ctx, st); err != nil {
				return err
			}
		}
		if st == before || s.ended(st) {
			return nil
		}
	}
}

// ended reports whether nothing more is looked for after a state.
func (s *solver) ended(st *state) bool {
	return s.cut || len(st.actions) == s.Actions || s.best.cost == s.bound
}

// order returns the candidates that may go: by falling price per pod that has to leave, then by falling price, then by node.
func (s *solver) order(ctx context.Context, st *state) ([]int, error) {
	w, err := s.weigh(ctx, st)
	if err != nil {
		return nil, err
	}
	var order []int
	pods := make(map[int]int)
	for at, c := range st.alive {
		if !w.Nodes[at].Fixed {
			order = append(order, c)
			pods[c] = w.Nodes[at].Pods
		}
	}
	slices.SortStableFunc(order, func(a, b int) int {
		x, y := s.Candidates[a].Price, s.Candidates[b].Price
		return cmp.Or(compareProducts(y, pods[a]+1, x, pods[b]+1), cmp.Compare(y, x))
	})
	return order, nil
}

// compareProducts compares a*b and c*d, none of them negative.
func compareProducts(a int64, b int, c int64, d int) int {
	hi, lo := bits.Mul64(uint64(a), uint64(b))
	high, low := bits.Mul64(uint64(c), uint64(d))
	return cmp.Or(cmp.Compare(hi, high), cmp.Compare(lo, low))
}

// delete removes candidates one by one, without new nodes.
func (s *solver) delete(ctx context.Context, st *state) (*state, error) {
	if s.ended(st) {
		return st, nil
	}
	order, err := s.order(ctx, st)
	if err != nil {
		return nil, err
	}
	return s.sweep(ctx, st, -1, singletons(order))
}

// singletons returns a set of each candidate.
func singletons(order []int) [][]int {
	sets := make([][]int, len(order))
	for i := range order {
		sets[i] = order[i : i+1 : i+1]
	}
	return sets
}

// byPrice returns the templates that may be added, in ascending order of price.
func (s *solver) byPrice() []int {
	var templates []int
	for t := range s.Templates {
		if s.Templates[t].Most > 0 {
			templates = append(templates, t)
		}
	}
	slices.SortStableFunc(templates, func(a, b int) int { return cmp.Compare(s.Templates[a].Price, s.Templates[b].Price) })
	return templates
}

// replace replaces candidates one by one by a cheaper node, the cheapest first.
func (s *solver) replace(ctx context.Context, st *state) (*state, error) {
	for _, t := range s.byPrice() {
		if s.ended(st) {
			break
		}
		order, err := s.order(ctx, st)
		if err != nil {
			return nil, err
		}
		if s.spend(1 + len(order)/setsOfStep) {
			if st, err = s.sweep(ctx, st, t, singletons(order)); err != nil {
				return nil, err
			}
		}
	}
	return st, nil
}

// maxPaired bounds the candidates whose pairs are all tried.
const maxPaired = 32

// replaceSets removes several candidates together, without a new node and then with one that is cheaper than all of them: the first
// ones of the order, as many as an action may remove, then half as many, and so on; then pairs.
func (s *solver) replaceSets(ctx context.Context, st *state) (*state, error) {
	if s.Nodes < 2 {
		return st, nil
	}
	for _, t := range append([]int{-1}, s.byPrice()...) {
		for more := true; more && !s.ended(st); {
			order, err := s.order(ctx, st)
			if err != nil {
				return nil, err
			}
			var sets [][]int
			for n := min(s.Nodes, len(order)); n > 1; n /= 2 {
				sets = append(sets, slices.Sorted(slices.Values(order[:n])))
			}
			first := order[:min(len(order), maxPaired)]
			for i := range first {
				for _, other := range first[i+1:] {
					sets = append(sets, []int{min(first[i], other), max(first[i], other)})
				}
			}
			before := st
			if !s.spend(1 + (len(order)+len(sets))/setsOfStep) {
				break
			}
			if st, err = s.sweep(ctx, st, t, sets); err != nil {
				return nil, err
			}
			more = st != before
		}
	}
	return st, nil
}

// setsOfStep is how many sets are looked at, and not tried, in a step.
const setsOfStep = 64

// maxBatch is how many sets are tried at a time.
const maxBatch = 64

// sweep tries sets in their order, with a new node of a template or none, and applies each one that can go. The number of sets tried
// at a time does not depend on the number of workers, so that results do not: it is one after a success, and otherwise doubles.
func (s *solver) sweep(ctx context.Context, st *state, template int, sets [][]int) (*state, error) {
	for batch := 1; len(sets) > 0 && !s.ended(st); {
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		var now [][]int
		looked := 0
		for looked < len(sets) && len(now) < batch {
			set := sets[looked]
			if looked++; s.allows(st, set, template) && s.fits(st, set, template) {
				steps, err := s.price(ctx, st, set)
				if err != nil {
					return nil, err
				}
				if !s.spend(steps) {
					break
				}
				now = append(now, set)
			}
		}
		if len(now) == 0 {
			break
		}
		can, err := s.try(ctx, st, template, now)
		if err != nil {
			return nil, err
		}
		first := slices.Index(can, true)
		if first < 0 {
			sets, batch = sets[looked:], min(2*batch, maxBatch)
			continue
		}
		if st, err = s.apply(ctx, st, template, now[first]); err != nil {
			return nil, err
		}
		for !slices.Equal(sets[0], now[first]) {
			sets = sets[1:]
		}
		sets, batch = s.receiversLast(st, sets[1:]), 1
	}
	return st, nil
}

// receiversLast moves the sets with a node to which pods came in the last action to the end. Otherwise these pods would be moved
// again and again.
func (s *solver) receiversLast(st *state, sets [][]int) [][]int {
	var first, last [][]int
	for _, set := range sets {
		if slices.ContainsFunc(set, func(c int) bool { return st.came[s.Candidates[c].Node] }) {
			last = append(last, set)
		} else {
			first = append(first, set)
		}
	}
	return append(first, last...)
}

// fits reports whether the resource amounts allow an action, according to the known weights.
func (s *solver) fits(st *state, set []int, template int) bool {
	w := st.weights
	if w == nil || !w.Bounded {
		return true
	}
	var needs, gone drain.Amounts
	for _, c := range set {
		at, _ := slices.BinarySearch(st.alive, c)
		for i := range needs {
			needs[i] = saturating.Add(needs[i], w.Nodes[at].Needs[i])
			gone[i] = saturating.Add(gone[i], w.Nodes[at].Free[i])
		}
	}
	for i, amount := range needs {
		if st.free[i] == math.MaxInt64 { // it may be more
			continue
		}
		free := st.free[i] - gone[i]
		if template >= 0 {
			free = saturating.Add(free, s.room[template][i])
		}
		if amount > free {
			return false
		}
	}
	return true
}
