package consolidate

import (
	"context"
	"math"
	"math/bits"
	"slices"

	"github.com/stowage-scheduler/stowage/engine/internal/saturating"
)

// boundOf returns a lower bound of the cost after any actions that follow a state.
//
// Candidates that cannot be drained keep their price. The pods that come back from the other candidates need resources. Nodes that
// stay in any case have some of these free. The rest must come from new nodes or from candidates that stay; such a candidate
// provides what its own pods need plus its free resources. The cheapest way to cover the rest, with fractions of nodes allowed, is a
// lower bound of the cost of any actions.
func (s *solver) boundOf(ctx context.Context, st *state) (int64, error) {
	w, err := s.weigh(ctx, st)
	if err != nil {
		return 0, err
	}
	fixed, most := int64(0), int64(0)
	for at, c := range st.alive {
		if w.Nodes[at].Fixed {
			fixed += s.Candidates[c].Price
		} else {
			most++
		}
	}
	fixed += s.pricesOfNew(st)
	if !w.Bounded {
		return fixed, nil
	}
	least := int64(0)
	for i := range w.Rest {
		if ctx.Err() != nil {
			return 0, ctx.Err()
		}
		free := w.Rest[i]
		needs := int64(0)
		var parts []part
		for at, c := range st.alive {
			n := &w.Nodes[at]
			if n.Fixed {
				free = saturating.Add(free, n.Free[i])
				continue
			}
			needs = saturating.Add(needs, n.Needs[i])
			parts = append(parts, part{s.Candidates[c].Price, saturating.Add(n.Needs[i], n.Free[i]), 1})
		}
		if free == math.MaxInt64 || needs == math.MaxInt64 { // it may be more
			continue
		}
		for t := range s.Templates {
			if n := min(most, int64(s.Templates[t].Most-st.counts[t])); n > 0 {
				parts = append(parts, part{s.Templates[t].Price, s.room[t][i], n})
			}
		}
		least = max(least, cheapest(parts, needs-free))
	}
	return fixed + least, nil
}

// pricesOfNew returns the prices of the nodes that were added, which stay.
func (s *solver) pricesOfNew(st *state) (cost int64) {
	for t, n := range st.counts {
		cost += int64(n) * s.Templates[t].Price
	}
	return cost
}

// part is a number of nodes that each have an amount for a price.
type part struct{ price, amount, most int64 }

// cheapest returns the least integer that is not below the price of an amount, of parts of nodes.
func cheapest(parts []part, amount int64) (cost int64) {
	parts = slices.DeleteFunc(parts, func(p part) bool { return p.amount <= 0 })
	slices.SortFunc(parts, func(a, b part) int {
		// a.price/a.amount against b.price/b.amount
		hi, lo := bits.Mul64(uint64(a.price), uint64(b.amount))
		high, low := bits.Mul64(uint64(b.price), uint64(a.amount))
		switch {
		case hi != high && hi < high, hi == high && lo < low:
			return -1
		case hi == high && lo == low:
			return 0
		}
		return 1
	})
	for _, p := range parts {
		if amount <= 0 {
			return cost
		}
		whole := min(p.most, amount/p.amount)
		cost = saturating.Add(cost, saturating.Mul(p.price, whole))
		if amount -= whole * p.amount; whole == p.most || amount == 0 {
			continue
		}
		// A part of one more node: less than its amount is needed.
		hi, lo := bits.Mul64(uint64(p.price), uint64(amount))
		quotient, rest := bits.Div64(hi, lo, uint64(p.amount))
		if rest > 0 {
			quotient++
		}
		return saturating.Add(cost, int64(quotient))
	}
	return cost
}
