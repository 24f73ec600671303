package provision

import (
	"cmp"
	"context"
	"crypto/sha256"
	"maps"
	"math"
	"slices"

	"github.com/stowage-scheduler/stowage/engine/internal/rule"
)

// demand is pods of a kind that are to be put on new nodes, in one domain of a key if there is one.
type demand struct {
	*kind
	left       int
	key, value string   // no key for any domain
	weight     float64  // what a pod costs
	amounts    []amount // of one pod, by need
}

// amount is an amount of a resource, by the place of the resource in room.
type amount struct {
	resource int
	each     int64
}

// active returns the templates that estimates use: of those that take the same pods, in the same domains and at most as many of
// them, only those for which no other one has as much of everything for the same price or less.
func (s *solver) active(ctx context.Context) ([]int, error) {
	if s.activated != nil {
		return s.activated, nil
	}
	needs := s.everyNeed()
	domain := s.domains()
	same := make(map[digest][]int)
	var keys []digest
	var key []byte
	taken := make([]byte, (len(s.kinds)+7)/8)
	for t := range s.Templates {
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		clear(taken)
		for i, k := range s.kinds {
			if s.takes(t, k) {
				taken[i/8] |= 1 << (i % 8)
			}
		}
		key = append(append(key[:0], taken...), domain(t)...)
		of := sha256.Sum256(key)
		if same[of] == nil {
			keys = append(keys, of)
		}
		same[of] = append(same[of], t)
	}
	s.activated = []int{}
	for _, of := range keys {
		list := same[of]
		slices.SortStableFunc(list, func(a, b int) int { return cmp.Compare(s.Templates[a].Price, s.Templates[b].Price) })
		var front []int
		for _, t := range list {
			if ctx.Err() != nil {
				return nil, ctx.Err()
			}
			if s.most(t) > 0 && !slices.ContainsFunc(front, func(by int) bool { return s.dominates(by, t, needs) }) {
				front = append(front, t)
			}
		}
		s.activated = append(s.activated, front...)
	}
	slices.Sort(s.activated)
	return s.activated, nil
}

// everyNeed returns a need for each resource, in the order of their names.
func (s *solver) everyNeed() []*rule.Need {
	resources := make(map[string]*rule.Need)
	for _, k := range s.kinds {
		for i := range k.needs {
			resources[k.needs[i].Resource] = &k.needs[i]
		}
	}
	needs := make([]*rule.Need, 0, len(resources))
	for _, name := range slices.Sorted(maps.Keys(resources)) {
		needs = append(needs, resources[name])
	}
	return needs
}

// dominates reports whether a template, which is not more expensive, has as much of everything as another one.
func (s *solver) dominates(by, t int, needs []*rule.Need) bool {
	return s.most(by) >= s.most(t) && !slices.ContainsFunc(needs, func(n *rule.Need) bool {
		return n.Room(s.first(by)) < n.Room(s.first(t))
	})
}

// most returns how many nodes of a template there may be.
func (s *solver) most(t int) int { return min(s.Templates[t].Most, s.MaxNodes) }

// price is a template's price for quotients.
func (s *solver) price(t int) float64 { return float64(s.Templates[t].Price) + 1.0/1024 }

// weight returns what a pod of a kind costs: by the weights that bound the cost, and a little for itself.
func (s *solver) weight(k *kind) float64 {
	weight := 1.0 / 1024
	for i := range s.rows {
		if r := &s.rows[i]; r.weight > 0 {
			weight += float64(r.weight * float64(r.each(k)) / float64(r.most))
		}
	}
	return weight
}

// demands returns what the unplaced pods of a trial need. Pods that must be spread over domains, or be apart, are divided evenly
// over the domains of templates that take them.
//
// times is for how many times as many pods there is to be room: pods of other kinds may take what is meant for these.
func (s *solver) demands(ctx context.Context, from *trial, active []int, times int) (demands []demand, err error) {
	for _, k := range s.unplaced(from) {
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		d := demand{kind: k, left: times * from.left[k.index], weight: s.weight(k)}
		taken := false
		var values []string
		for _, t := range active {
			if k.most(s.first(t)) == 0 {
				continue
			}
			if taken = true; len(k.spread) == 0 {
				break
			}
			if v := s.value(t, k.spread[0]); !slices.Contains(values, v) {
				values = append(values, v)
			}
		}
		switch {
		case !taken:
		case len(values) < 2:
			demands = append(demands, d)
		default:
			for i, value := range values {
				part := d
				part.key, part.value = k.spread[0], value
				if part.left = (d.left + i) / len(values); part.left > 0 {
					demands = append(demands, part)
				}
			}
		}
	}
	slices.SortStableFunc(demands, func(a, b demand) int { return cmp.Compare(b.weight, a.weight) })
	return demands, nil
}

// filling is an estimate of how many new nodes are needed.
type filling struct {
	*solver
	demands []demand
	room    [][]int64 // by template, for those in use, and resource
	used    []int64   // by resource
	total   []float64 // by resource
	taken   []bool    // by number of kinds that exclude each other: whether the node has a pod of them
}

// newFilling prepares an estimate of what the unplaced pods of a trial need.
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

// estimate returns counts, at least those of a trial, that have room for its unplaced pods as far as resources tell. Nodes of one
// template come first, unless it is negative. The next ones are those whose pods, at the least price, are worth the most for the
// price of the node. What a node was worth before is taken for what it is worth at most.
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

// fill returns how many pods of each demand a new node of a template takes, and what they are worth. It takes of each demand its
// share of what the node has room for, as pods come to nodes in any order, and then the largest that fit.
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

// maxTimes bounds for how many times the unplaced pods nodes are added at once.
const maxTimes = 64

// grow adds nodes until all pods are placed, or none of those that are tried places more: to nodes of one size, and to none. The
// first of these that cost the least are kept.
func (s *solver) grow(ctx context.Context) error {
	if s.complete(s.best) {
		return nil
	}
	active, err := s.active(ctx)
	if err != nil {
		return err
	}
	from, err := s.even(ctx, active)
	if err != nil {
		return err
	}
	for _, t := range from {
		s.accept(t)
	}
	for _, t := range append(from, s.start) {
		if err := s.growFrom(ctx, t, active); err != nil {
			return err
		}
	}
	return nil
}

// growFrom adds nodes to those of a trial, until all pods are placed or it costs no less than the best trial, which has all of
// them. As long as most of the unplaced pods stay unplaced, it adds more for them: other pods take the room, or the nodes where
// they would be are taken. What is too much is removed afterwards.
func (s *solver) growFrom(ctx context.Context, from *trial, active []int) error {
	use := func(t *trial) bool {
		s.accept(t)
		if !t.better(from) {
			return false
		}
		from = t
		return true
	}
	for times := 1; !s.complete(from) && (!s.complete(s.best) || from.cost < s.best.cost); {
		before := s.target - from.placed
		counts, err := s.estimate(ctx, from, active, -1, times)
		if err != nil {
			return err
		}
		if s.complete(s.best) && s.costOf(counts) >= s.best.cost {
			return nil
		}
		more := false
		if !slices.Equal(counts, from.counts) {
			more, err = s.firstOf(ctx, [][]int{counts}, use)
			if after := s.target - from.placed; err == nil && 2*after > before && times < maxTimes {
				times *= 2
				continue
			}
		}
		if err == nil && !more {
			more, err = s.unstick(ctx, from, active, use)
		}
		if err != nil || !more {
			return err
		}
	}
	return nil
}

// accept makes a trial the best one if it is better.
func (s *solver) accept(t *trial) bool {
	if !t.better(s.best) {
		return false
	}
	s.best = t
	return true
}

// maxTemplatesTried bounds the templates that are tried one by one where estimates do not help.
const maxTemplatesTried = 64

// unstick tries nodes of each template, one and as many as the first unplaced pods need alone, the cheapest first, until more pods
// are placed.
func (s *solver) unstick(ctx context.Context, from *trial, active []int, use func(*trial) bool) (bool, error) {
	kinds := s.unplaced(from)
	var all [][]int
	templates := 0
	for _, t := range active {
		if ctx.Err() != nil {
			return false, ctx.Err()
		}
		counts := from.counts
		room := min(s.most(t)-counts[t], s.MaxNodes-from.nodes)
		at := slices.IndexFunc(kinds, func(k *kind) bool { return k.most(s.first(t)) > 0 })
		if room <= 0 || at < 0 {
			continue
		}
		if templates++; templates > maxTemplatesTried {
			break
		}
		fit := kinds[at].most(s.first(t))
		for _, n := range []int{1, (from.left[kinds[at].index]-1)/fit + 1} {
			more := slices.Clone(counts)
			more[t] += min(n, room)
			if len(all) == 0 || !slices.Equal(all[len(all)-1], more) {
				all = append(all, more)
			}
		}
	}
	slices.SortStableFunc(all, func(a, b []int) int { return cmp.Compare(s.costOf(a), s.costOf(b)) })
	return s.firstOf(ctx, all, use)
}

// maxRestarts bounds the estimates that are tried from the beginning.
const maxRestarts = 8

// restart tries estimates that prefer one template, those that cost the least.
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
