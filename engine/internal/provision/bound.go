package provision

import (
	"context"
	"math"
	"math/big"
	"slices"
)

// boundByRow returns what meeting one row costs at least.
func (s *solver) boundByRow(r *row) int64 {
	least, cheapest := math.Inf(1), int64(math.MaxInt64)
	for t, brings := range r.brings {
		if brings > 0 {
			price := s.Templates[t].Price
			cheapest = min(cheapest, price)
			least = min(least, float64(price)/float64(brings))
		}
	}
	nodes := (r.need-1)/r.most + 1
	// The quotient is rounded down by more than it may be too large.
	byAmount := math.Floor(min(float64(maxAmount), float64(least*float64(r.need))*(1-1e-9)))
	if hi := float64(cheapest) * float64(nodes); hi > float64(maxAmount) {
		return int64(min(byAmount, hi*(1-1e-9)))
	}
	return max(cheapest*nodes, int64(byAmount))
}

// meets reports whether counts meet all rows, as they must if all pods are placed.
func (s *solver) meets(counts []int) bool {
	var some []int
	for t, n := range counts {
		if n > 0 {
			some = append(some, t)
		}
	}
	for i := range s.rows {
		r := &s.rows[i]
		left := r.need
		for _, t := range some {
			n := counts[t]
			if r.brings[t] == 0 {
				continue
			}
			if int64(n) > left/r.brings[t] {
				left = 0
				break
			}
			left -= int64(n) * r.brings[t]
		}
		if left > 0 {
			return false
		}
	}
	return true
}

// bound returns a lower bound of the cost of all counts with which all pods are placed that are not known to be impossible.
func (s *solver) bound(ctx context.Context) (int64, error) {
	least := int64(0)
	for i := range s.rows {
		least = max(least, s.boundByRow(&s.rows[i]))
	}
	together, err := s.boundByRows(ctx)
	return s.roundedUp(max(least, together)), err
}

// roundedUp rounds cost up to a multiple of the greatest common divisor of the prices, because every sum of prices is such a
// multiple.
func (s *solver) roundedUp(cost int64) int64 {
	divisor := int64(0)
	for t := range s.Templates {
		for a, b := divisor, s.Templates[t].Price; ; a, b = b, a%b {
			if b == 0 {
				divisor = a
				break
			}
		}
	}
	if divisor > 1 && cost%divisor != 0 {
		return cost - cost%divisor + divisor
	}
	return cost
}

// fixedBits is how many bits of the weights of rows are behind the point.
const fixedBits = 40

// boundByRows bounds the cost by all rows at once. Each row gets a weight, such that no template brings more, weighted, than its
// price: then the weighted needs cost at least as much. Floating point finds the weights. Integers verify them.
func (s *solver) boundByRows(ctx context.Context) (int64, error) {
	var rows []*row
	for i := range s.rows {
		r, free := &s.rows[i], false
		for t, brings := range r.brings {
			free = free || brings > 0 && s.Templates[t].Price == 0
		}
		if !free {
			rows = append(rows, r)
		}
	}
	var templates []int
	for t := range s.Templates {
		if slices.ContainsFunc(rows, func(r *row) bool { return r.brings[t] > 0 }) {
			templates = append(templates, t)
		}
	}
	if len(rows) == 0 {
		return 0, nil
	}
	p := &linearProgram{
		limit: make([]float64, len(templates)), gain: make([]float64, len(rows)), use: make([][]float64, len(templates)),
	}
	for i, t := range templates {
		p.limit[i], p.use[i] = float64(s.Templates[t].Price), make([]float64, len(rows))
		for j, r := range rows {
			p.use[i][j] = float64(r.brings[t]) / float64(r.most)
		}
	}
	for j, r := range rows {
		p.gain[j] = float64(r.need) / float64(r.most)
	}
	weights, err := p.solve(ctx)
	if err != nil {
		return 0, err
	}
	for j, r := range rows {
		r.weight = weights[j]
	}
	return s.verified(rows, templates, weights), nil
}

// verified returns the bound that weights of rows prove, once they are scaled down as far as it takes.
func (s *solver) verified(rows []*row, templates []int, weights []float64) int64 {
	exact := make([]*big.Int, len(rows))
	for j, w := range weights {
		if math.IsNaN(w) || math.IsInf(w, 0) {
			w = 0
		}
		scaled, _ := new(big.Float).SetMantExp(big.NewFloat(max(0, w)), fixedBits).Int(nil)
		exact[j] = scaled
	}
	// The scale is the least quotient of a price and what the template brings.
	num, den := big.NewInt(1), big.NewInt(1)
	term, rest := new(big.Int), new(big.Int)
	for _, t := range templates {
		brought := new(big.Int)
		for j, r := range rows {
			if r.brings[t] == 0 {
				continue
			}
			term.Mul(exact[j], big.NewInt(r.brings[t]))
			term.QuoRem(term, big.NewInt(r.most), rest)
			if brought.Add(brought, term); rest.Sign() > 0 {
				brought.Add(brought, big.NewInt(1))
			}
		}
		price := new(big.Int).Lsh(big.NewInt(s.Templates[t].Price), fixedBits)
		// price/brought < num/den
		if new(big.Int).Mul(price, den).Cmp(new(big.Int).Mul(num, brought)) < 0 {
			num, den = price, brought
		}
	}
	all := new(big.Int)
	for j, r := range rows {
		term.Mul(exact[j], big.NewInt(r.need))
		all.Add(all, term.Quo(term, big.NewInt(r.most)))
	}
	all.Mul(all, num)
	den = new(big.Int).Lsh(den, fixedBits)
	all.QuoRem(all, den, rest)
	if rest.Sign() > 0 { // costs are integers
		all.Add(all, big.NewInt(1))
	}
	if !all.IsInt64() {
		return maxAmount
	}
	return all.Int64()
}
