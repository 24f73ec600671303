package consolidate

import (
	"context"
	"math/bits"
)

// maxExhausted bounds the removable candidates for the search of all their sets.
const maxExhausted = 8

// exhaust tries all sequences of actions, where few candidates may go. If it ends with all of them, the bound is the cost.
func (s *solver) exhaust(ctx context.Context) error {
	if s.best.cost == s.bound || s.cut {
		return nil
	}
	w, err := s.weigh(ctx, s.root)
	if err != nil {
		return err
	}
	may := 0
	for i := range w.Nodes {
		if !w.Nodes[i].Fixed {
			may++
		}
	}
	if may > maxExhausted {
		return nil
	}
	if err := s.exhaustFrom(ctx, s.root); err != nil {
		return err
	}
	if !s.cut && !s.hasUndecided() {
		s.bound = s.best.cost
	}
	return nil
}

func (s *solver) exhaustFrom(ctx context.Context, st *state) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if !s.spend(1 + len(s.Templates)/setsOfStep) {
		return nil
	}
	bound, err := s.boundOf(ctx, st)
	if err != nil || bound >= s.best.cost || len(st.actions) == s.Actions {
		return err
	}
	var may []int
	for at, c := range st.alive {
		if !st.weights.Nodes[at].Fixed {
			may = append(may, c)
		}
	}
	for template := -1; template < len(s.Templates); template++ {
		if err := ctx.Err(); err != nil {
			return err
		}
		if !s.spend(1) {
			return nil
		}
		for mask := uint(1); mask < 1<<len(may); mask++ {
			if s.cut || s.best.cost == s.bound {
				return nil
			}
			if bits.OnesCount(mask) > s.Nodes {
				continue
			}
			var set []int
			for i, c := range may {
				if mask&(1<<i) != 0 {
					set = append(set, c)
				}
			}
			if !s.allows(st, set, template) || !s.fits(st, set, template) {
				continue
			}
			if err := s.exhaustBy(ctx, st, template, set); err != nil {
				return err
			}
		}
	}
	return nil
}

// exhaustBy tries all sequences that go on with one action.
func (s *solver) exhaustBy(ctx context.Context, st *state, template int, set []int) error {
	steps, err := s.price(ctx, st, set)
	if err != nil || !s.spend(steps) {
		return err
	}
	can, err := s.try(ctx, st, template, [][]int{set})
	if err != nil || !can[0] {
		return err
	}
	next, err := s.apply(ctx, st, template, set)
	if err != nil {
		return err
	}
	return s.exhaustFrom(ctx, next)
}
