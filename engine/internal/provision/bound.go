package provision

import (
	"cmp"
	"context"
	"crypto/sha256"
	"math"
	"math/big"
	"slices"

	"github.com/stowage-scheduler/stowage/engine/internal/nodeset"
	"github.com/stowage-scheduler/stowage/engine/internal/rule"
)

// row is something that pods need and that new nodes have to bring: an amount of a resource for some kinds of pods, or room for
// as many pods of one kind. Whatever counts all pods can be placed with, the sum of brings over the new nodes is at least need.
type row struct {
	need   int64   // beyond what the cluster has, more than 0
	brings []int64 // by template
	most   int64   // of brings, more than 0
	weight float64 // of a need of most, in the bound of all rows together
	// What needs it: pods of a kind alone, or of kinds that exclude each other, or the amount of a resource for the kinds of a
	// set, or of all kinds.
	only     *kind
	apart    int // noApart for no such kinds
	resource string
	set      int // allKinds for all
}

// allKinds is the number of the set of all kinds.
const allKinds = -1

// each returns what a pod of a kind needs.
func (r *row) each(k *kind) int64 {
	switch {
	case r.only != nil:
		if r.only == k {
			return 1
		}
		return 0
	case r.apart != noApart:
		if r.apart == k.apart && !k.impossible && !k.named {
			return 1
		}
		return 0
	case k.impossible || k.named || r.set != allKinds && r.set != k.set:
		return 0
	}
	for i := range k.needs {
		if k.needs[i].Resource == r.resource {
			return k.each(&k.needs[i])
		}
	}
	return 0
}

// Bounds of the rows, so that bounding takes a fraction of a trial.
const (
	maxSets      = 32
	maxAlone     = 96
	maxResources = 8
	maxRows      = 160
	maxAmount    = math.MaxInt64 / 2
)

// rowsOf returns rows: for all kinds together, for those that the same templates take, and for kinds alone.
func (s *solver) rowsOf(ctx context.Context, a *analysis) ([]row, error) {
	if !a.sound {
		return nil, nil
	}
	var counted []*kind
	for _, k := range a.kinds {
		if !k.impossible && !k.named {
			counted = append(counted, k)
		}
	}
	var rows []row
	sets, err := s.sets(ctx, counted)
	if err != nil {
		return nil, err
	}
	for number, set := range sets {
		if number == len(sets)-1 {
			number = allKinds
		}
		nodes := nodeset.New(s.base.Len() + len(s.Templates))
		resources := make(map[string]*rule.Need)
		var names []string
		for _, k := range set {
			nodes.Or(k.nodes)
			for i := range k.needs {
				if name := k.needs[i].Resource; resources[name] == nil && len(names) < maxResources {
					resources[name] = &k.needs[i]
					names = append(names, name)
				}
			}
		}
		slices.Sort(names)
		for _, name := range names {
			if err := ctx.Err(); err != nil {
				return nil, err
			}
			r := row{resource: name, set: number, apart: noApart}
			for _, k := range set {
				r.need = min(maxAmount, r.need+int64(k.pods)*r.each(k)) // less than is needed is sound
			}
			if s.fillRow(&r, func(n uint32) int64 {
				if !nodes.Has(n) {
					return 0
				}
				return max(0, resources[name].Room(n))
			}) {
				rows = append(rows, r)
			}
		}
	}
	slices.SortStableFunc(counted, func(a, b *kind) int { return cmp.Compare(b.pods, a.pods) })
	for _, k := range counted[:min(len(counted), maxAlone)] {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		r := row{need: int64(k.pods), only: k, apart: noApart}
		if s.fillRow(&r, func(n uint32) int64 { return int64(k.most(n)) }) {
			rows = append(rows, r)
		}
	}
	apart, err := s.rowsApart(ctx, a)
	if err != nil {
		return nil, err
	}
	rows = append(rows, apart...)
	slices.SortStableFunc(rows, func(a, b row) int { return cmp.Compare(s.alone(&b), s.alone(&a)) })
	return rows[:min(len(rows), maxRows)], nil
}

// rowsApart returns rows for kinds that exclude each other, those of most pods. A kind without others has a row of its own.
func (s *solver) rowsApart(ctx context.Context, a *analysis) (rows []row, err error) {
	var some []row
	for number, kinds := range a.apart {
		r := row{apart: number}
		for _, k := range kinds {
			if !k.impossible && !k.named {
				r.need += int64(k.pods)
			}
		}
		if len(kinds) > 1 && r.need > 0 {
			some = append(some, r)
		}
	}
	slices.SortStableFunc(some, func(a, b row) int { return cmp.Compare(b.need, a.need) })
	for _, r := range some[:min(len(some), maxSets)] {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		if s.fillRow(&r, func(n uint32) int64 { return a.mostApart(r.apart, n) }) {
			rows = append(rows, r)
		}
	}
	return rows, nil
}

// sets numbers the kinds by the templates that take them, and returns the sets with the most pods. The last one is all kinds.
func (s *solver) sets(ctx context.Context, kinds []*kind) ([][]*kind, error) {
	at := make(map[digest]int)
	var sets [][]*kind
	var pods []int
	key := make([]byte, (len(s.Templates)+7)/8)
	for _, k := range kinds {
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		clear(key)
		for t := range s.Templates {
			if s.takes(t, k) {
				key[t/8] |= 1 << (t % 8)
			}
		}
		of := sha256.Sum256(key)
		i, known := at[of]
		if !known {
			i = len(sets)
			at[of] = i
			sets, pods = append(sets, nil), append(pods, 0)
		}
		sets[i] = append(sets[i], k)
		pods[i] += k.pods
	}
	order := make([]int, len(sets))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(pods[b], pods[a]) })
	out := make([][]*kind, 0, maxSets+1)
	for number, i := range order {
		for _, k := range sets[i] {
			k.set = number
		}
		if number < maxSets {
			out = append(out, sets[i])
		}
	}
	return append(out, kinds), nil
}

// fillRow sets what a row needs beyond what the cluster has, and what templates bring. It reports whether more is needed, and some
// template brings it.
func (s *solver) fillRow(r *row, brings func(n uint32) int64) bool {
	for n := range s.Candidates.All() {
		if r.need -= min(r.need, brings(n)); r.need == 0 {
			return false
		}
	}
	r.brings = make([]int64, len(s.Templates))
	for t := range r.brings {
		r.brings[t] = brings(s.first(t))
		r.most = max(r.most, r.brings[t])
	}
	return r.need > 0 && r.most > 0
}

// alone returns what meeting one row costs at least.
func (s *solver) alone(r *row) int64 {
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
		least = max(least, s.alone(&s.rows[i]))
	}
	together, err := s.together(ctx)
	return s.roundedUp(max(least, together)), err
}

// roundedUp returns the least amount of at least cost that sums of prices can have, as far as their divisor tells.
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

// together bounds the cost by all rows at once. Each row gets a weight, such that no template brings more, weighted, than its
// price: then the weighted needs cost at least as much. Floating point finds the weights. Integers verify them.
func (s *solver) together(ctx context.Context) (int64, error) {
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
	p := &packing{
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

// packing is the linear program: as much gain as possible, within the limits, which are more than 0.
type packing struct {
	limit, gain []float64
	use         [][]float64 // by limit, then by gain
}

// Where the simplex method ends.
const (
	maxPivots = 400
	tiny      = 1e-9
)

// solve returns amounts by gain, by the simplex method. Wherever it ends, they are within the limits but for rounding. Products
// are rounded before they are added, on every processor alike.
func (p *packing) solve(ctx context.Context) ([]float64, error) {
	limits, gains := len(p.limit), len(p.gain)
	// Columns are gains or, once these are in the basis, slacks of limits.
	column, basis := make([]int, gains), make([]int, limits)
	for j := range column {
		column[j] = j
	}
	for i := range basis {
		basis[i] = gains + i
	}
	for range maxPivots {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		enter := 0
		for j := range p.gain {
			if p.gain[j] > p.gain[enter] {
				enter = j
			}
		}
		if p.gain[enter] <= tiny {
			break
		}
		leave := -1
		for i := range p.limit {
			if p.use[i][enter] > tiny && (leave < 0 || p.limit[i]*p.use[leave][enter] < p.limit[leave]*p.use[i][enter]) {
				leave = i
			}
		}
		if leave < 0 {
			break
		}
		p.pivot(leave, enter)
		column[enter], basis[leave] = basis[leave], column[enter]
	}
	out := make([]float64, gains)
	for i, b := range basis {
		if b < gains {
			out[b] = max(0, p.limit[i])
		}
	}
	return out, nil
}

func (p *packing) pivot(leave, enter int) {
	row := p.use[leave]
	by := 1 / row[enter]
	row[enter] = 1
	for j := range row {
		row[j] *= by
	}
	p.limit[leave] *= by
	for i := range p.use {
		f := p.use[i][enter]
		if i == leave || f == 0 {
			continue
		}
		p.use[i][enter] = 0
		for j := range row {
			p.use[i][j] -= float64(f * row[j])
		}
		p.limit[i] -= float64(f * p.limit[leave])
	}
	f := p.gain[enter]
	p.gain[enter] = 0
	for j := range row {
		p.gain[j] -= float64(f * row[j])
	}
}
