package provision

import (
	"cmp"
	"context"
	"slices"
)

// shrink removes nodes that are not needed, of the most expensive templates first, many at a time where that is possible.
func (s *solver) shrink(ctx context.Context) error {
	templates := make([]int, 0, len(s.Templates))
	for t, n := range s.best.counts {
		if n > 0 {
			templates = append(templates, t)
		}
	}
	slices.SortStableFunc(templates, func(a, b int) int { return cmp.Compare(s.Templates[b].Price, s.Templates[a].Price) })
	for _, t := range templates {
		for removed := true; removed && s.best.counts[t] > 0; {
			var fewer [][]int
			for n := s.best.counts[t]; n > 0; n /= 2 {
				counts := slices.Clone(s.best.counts)
				counts[t] -= n
				if s.mayBeComplete(counts) {
					fewer = append(fewer, counts)
				}
			}
			var err error
			if removed, err = s.firstOf(ctx, fewer, s.accept); err != nil {
				return err
			}
		}
	}
	return nil
}

// mayBeComplete reports whether rows allow counts to be as good as the best ones.
func (s *solver) mayBeComplete(counts []int) bool { return !s.complete(s.best) || s.meets(counts) }

const (
	// maxExchanged is how many nodes of one template are exchanged at a time, and for how many of another one.
	maxExchanged = 4
	// maxInVain is the number of successive failed exchanges after which the search stops.
	maxInVain = 64
	// maxExchanges bounds the exchanges under consideration to the ones with the highest savings.
	maxExchanges = 1 << 14
)

// exchange replaces some nodes by cheaper ones if as many pods are placed. Exchanges with the highest savings are tried first.
func (s *solver) exchange(ctx context.Context) error {
	active, err := s.active(ctx)
	if err != nil {
		return err
	}
	for {
		found, err := s.firstExchange(ctx, active)
		if err != nil || !found {
			return err
		}
		if err := s.shrink(ctx); err != nil {
			return err
		}
	}
}

// exchange replaces a number of nodes of one template by nodes of another one.
type exchange struct {
	from, to, fewer, more int
	saved                 int64
}

// exchanges returns the exchanges that save the most, in descending order.
func (s *solver) exchanges(ctx context.Context, active []int) ([]exchange, error) {
	var all []exchange
	largest := func() {
		slices.SortStableFunc(all, func(a, b exchange) int { return cmp.Compare(b.saved, a.saved) })
		all = all[:min(len(all), maxExchanges)]
	}
	for from, n := range s.best.counts {
		for fewer := 1; fewer <= min(n, maxExchanged); fewer++ {
			if s.used += 1 + len(active)/64; ctx.Err() != nil || s.used >= s.limit {
				return nil, ctx.Err()
			}
			for _, to := range active {
				if to == from {
					continue
				}
				for more := 1; more <= maxExchanged && s.best.counts[to]+more <= s.most(to); more++ {
					saved := int64(fewer)*s.Templates[from].Price - int64(more)*s.Templates[to].Price
					if saved > 0 && s.best.nodes-fewer+more <= s.MaxNodes && (fewer == 1 || more == 1) {
						all = append(all, exchange{from, to, fewer, more, saved})
					}
				}
			}
			if len(all) > 2*maxExchanges {
				largest()
			}
		}
	}
	largest()
	return all, nil
}

// firstExchange accepts the first exchange with which the best trial becomes better.
func (s *solver) firstExchange(ctx context.Context, active []int) (bool, error) {
	all, err := s.exchanges(ctx, active)
	if err != nil {
		return false, err
	}
	var counts [][]int
	for i, e := range all {
		if i%256 == 0 && ctx.Err() != nil {
			return false, ctx.Err()
		}
		c := slices.Clone(s.best.counts)
		c[e.from] -= e.fewer
		c[e.to] += e.more
		if s.mayBeComplete(c) {
			if counts = append(counts, c); len(counts) == maxInVain {
				break
			}
		}
	}
	return s.firstOf(ctx, counts, s.accept)
}
