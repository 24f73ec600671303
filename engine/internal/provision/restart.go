package provision

import (
	"cmp"
	"context"
	"slices"
)

// maxRestarts bounds the estimates that are tried from the beginning.
const maxRestarts = 8

// restart tries the cheapest estimates that prefer one template.
func (s *solver) restart(ctx context.Context) error {
	if !s.complete(s.best) || s.best.cost == 0 {
		return nil
	}
	type estimated struct {
		counts []int
		cost   int64
	}
	var all []estimated
	active, err := s.active(ctx)
	if err != nil {
		return err
	}
	worthiest, err := s.worthiest(ctx, active)
	if err != nil {
		return err
	}
	for _, t := range worthiest {
		counts, err := s.estimate(ctx, s.start, active, t, 1)
		if err != nil {
			return err
		}
		e := estimated{counts: counts}
		for i, n := range counts {
			e.cost += int64(n) * s.Templates[i].Price
		}
		if e.cost < s.best.cost && !slices.ContainsFunc(all, func(o estimated) bool { return slices.Equal(o.counts, counts) }) {
			all = append(all, e)
		}
	}
	slices.SortStableFunc(all, func(a, b estimated) int { return cmp.Compare(a.cost, b.cost) })
	var counts [][]int
	for _, e := range all[:min(len(all), maxRestarts)] {
		counts = append(counts, e.counts)
	}
	_, err = s.firstOf(ctx, counts, s.accept)
	return err
}

// worthiest returns the templates whose first nodes are worth the most for their price.
func (s *solver) worthiest(ctx context.Context, active []int) ([]int, error) {
	f, err := s.newFilling(ctx, s.start, active, 1)
	if err != nil {
		return nil, err
	}
	worth := make(map[int]float64, len(active))
	for _, t := range active {
		if s.used += 1 + len(f.demands)/32; ctx.Err() != nil || s.used >= s.limit {
			return nil, ctx.Err()
		}
		_, value := f.fill(t)
		worth[t] = value / s.price(t)
	}
	active = slices.Clone(active)
	slices.SortStableFunc(active, func(a, b int) int { return cmp.Compare(worth[b], worth[a]) })
	return active[:min(len(active), maxRestarts)], nil
}
