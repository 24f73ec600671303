package provision

import (
	"context"
	"math"
	"slices"
)

// most returns how many nodes of a template there may be.
func (s *solver) most(t int) int { return min(s.Templates[t].Most, s.MaxNodes) }

// price is a template's price for quotients.
func (s *solver) price(t int) float64 { return float64(s.Templates[t].Price) + 1.0/1024 }

// filling is an estimate of how many new nodes are needed.
type filling struct {
	*solver
	demands []demand
	room    [][]int64 // by template in use and by resource
	used    []int64   // by resource
	total   []float64 // by resource
	taken   []bool    // by number of kinds that exclude each other: whether the node has a pod of them
}

// newFilling prepares an estimate of the needs of a trial's unplaced pods.
func (s *solver) newFilling(ctx context.Context, from *trial, active []int, times int) (*filling, error) {
	demands, err := s.demands(ctx, from, active, times)
	if err != nil {
		return nil, err
	}
	f := &filling{solver: s, demands: demands, room: make([][]int64, len(s.Templates)), taken: make([]bool, len(s.apart))}
	resources := make(map[string]int)
	for i := range f.demands {
		d := &f.demands[i]
		for j := range d.needs {
			need := &d.needs[j]
			each := d.each(need)
			if each <= 0 {
				continue
			}
			r, known := resources[need.Resource]
			if !known {
				r = len(resources)
				resources[need.Resource] = r
				for _, t := range active {
					f.room[t] = append(f.room[t], need.Room(s.first(t)))
				}
			}
			d.amounts = append(d.amounts, amount{r, each})
		}
	}
	f.used, f.total = make([]int64, len(resources)), make([]float64, len(resources))
	return f, nil
}

// estimate returns counts whose resources have room for the unplaced pods of a trial. No count is lower than in the trial. Nodes of
// the template first come first, unless first is negative. The next node is always the one with the most value for its price, where
// the value is the least price of its pods. The last known value of a template serves as an upper bound of its current value.
func (s *solver) estimate(ctx context.Context, from *trial, active []int, first, times int) ([]int, error) {
	counts, nodes := slices.Clone(from.counts), from.nodes
	f, err := s.newFilling(ctx, from, active, times)
	if err != nil {
		return nil, err
	}
	worth, fresh := make([]float64, len(active)), make([]int, len(active))
	for i := range worth {
		worth[i] = math.Inf(1)
	}
	for round := 1; nodes < s.MaxNodes && len(f.demands) > 0 && s.used < s.limit; {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		best := 0
		for i, t := range active {
			if worth[i] > worth[best] || t == first && worth[i] > 0 {
				if best = i; t == first {
					break
				}
			}
		}
		t := active[best]
		more := min(s.most(t)-counts[t], s.MaxNodes-nodes)
		if more == 0 {
			worth[best] = 0
		}
		if worth[best] == 0 {
			if !slices.ContainsFunc(worth, func(w float64) bool { return w > 0 }) {
				break
			}
			continue
		}
		s.used += 1 + len(f.demands)/32
		fill, value := f.fill(t)
		if fresh[best] != round {
			fresh[best], worth[best] = round, value/s.price(t)
			continue // it may not be the best any more
		}
		for i, n := range fill {
			if n > 0 {
				more = min(more, f.demands[i].left/n)
			}
		}
		for i, n := range fill {
			f.demands[i].left -= n * more
		}
		f.demands = slices.DeleteFunc(f.demands, func(d demand) bool { return d.left == 0 })
		counts[t] += more
		nodes += more
		round++
	}
	return counts, nil
}

// fill returns how many pods of each demand a new node of a template takes, and what they are worth. It first takes a share of each
// demand in proportion to the node's room, because pods come to nodes in any order, and then the largest pods that fit.
func (f *filling) fill(t int) (fill []int, worth float64) {
	node, room := f.first(t), f.room[t]
	clear(f.used)
	fill = make([]int, len(f.demands))
	clear(f.total)
	clear(f.taken)
	for i := range f.demands {
		if d := &f.demands[i]; f.fits(d, t) {
			for _, a := range d.amounts {
				f.total[a.resource] += float64(float64(d.left) * float64(a.each))
			}
		}
	}
	share := 1.0
	for r, total := range f.total {
		if total > 0 {
			share = min(share, float64(max(0, room[r]))/total)
		}
	}
	owed := 0.5
	for pass := range 2 {
		for i := range f.demands {
			d := &f.demands[i]
			if !f.fits(d, t) {
				continue
			}
			fit := int64(d.left - fill[i])
			if pass == 0 {
				owed += float64(float64(d.left) * share)
				fit = min(fit, int64(owed))
			}
			for _, a := range d.amounts {
				fit = min(fit, max(0, room[a.resource]-f.used[a.resource])/a.each)
			}
			if fit > 0 && len(d.alone) > 0 {
				if fit = min(fit, int64(d.most(node)-fill[i])); fit > 0 && f.taken[d.apart] {
					if _, in := d.alone[0].Domain(node); in {
						fit = 0
					}
				}
			}
			if fit <= 0 {
				continue
			}
			if len(d.alone) > 0 {
				f.taken[d.apart] = true
			}
			if pass == 0 {
				owed -= float64(fit)
			}
			for _, a := range d.amounts {
				f.used[a.resource] += fit * a.each
			}
			fill[i] += int(fit)
			worth += float64(float64(fit) * d.weight)
		}
	}
	return fill, worth
}

// fits reports whether a demand may be put on nodes of a template, as far as is known.
func (f *filling) fits(d *demand, t int) bool {
	return d.nodes.Has(f.first(t)) && (d.key == "" || f.value(t, d.key) == d.value)
}
