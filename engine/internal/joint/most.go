package joint

import (
	"math"
	"slices"
)

// Packs reports whether Most applies: the pods meet each other in resources alone.
func (g *Group) Packs() bool {
	for i := range g.replicas {
		r := &g.replicas[i]
		among := func(e exclusion) bool { return slices.Contains(e.excludes, true) }
		if len(r.spread)+len(r.others) > 0 || r.affinity != nil || slices.ContainsFunc(r.exclusions, among) {
			return false
		}
	}
	if g.candidates.Len()*len(g.replicas) > maxPlaces {
		return false
	}
	for i := range g.resources {
		room := uint64(g.resources[i].total) // amounts must not overflow
		for n := range g.candidates.All() {
			room += uint64(max(0, g.resources[i].room(n)))
			if room > math.MaxInt64/4 {
				return false
			}
		}
	}
	return true
}

// Most assigns as many pods as it finds room for: of the highest priority first, then of the next one, and never fewer than floor,
// which is a valid assignment. priorities are the priorities of the replicas. optimal is set if it proved that no assignment has
// more.
//
// It begins with the best of floor and of several orders of placing one by one (packer.greedy). It then takes the priorities one
// after another, and adds one pod at a time: the pod goes to a node that it overloads, and pods are moved and swapped until no node
// is overloaded (packer.repair). Where it does not succeed with few pods, a complete search (packer.exact) finds a place or proves
// that there is none.
func (g *Group) Most(order []uint32, priorities []int32, floor []Assignment, budget *Budget) (assigned []Assignment, optimal bool) {
	p := newPacker(g, order, priorities, budget)
	p.begin(floor)
	optimal = true
	for t := range p.tiers {
		optimal = p.fill(t) && optimal
	}
	for i, n := range p.best {
		if n != outside {
			assigned = append(assigned, Assignment{Replicas: p.pods[i].replicas, Node: p.nodes[n]})
		}
	}
	return assigned, optimal
}

// maxPlaces bounds the memory of a search: nodes times different pods.
const maxPlaces = 1 << 24

// fill assigns pods of a tier in addition to the pods of higher tiers, and reports whether it proved that no more pods can be
// assigned.
func (p *packer) fill(t int) bool {
	counts := p.counts(p.best)[:t+1]
	for _, w := range p.ways() {
		if counts[t] == len(p.tiers[t]) || !p.budget.Spend(len(p.tiers[t])) {
			break
		}
		p.restoreWithout(t)
		p.greedy(t, w)
		if found := len(p.tiers[t]) - len(p.out[t]); found > counts[t] {
			p.keep(t)
			counts[t] = found
		}
	}
	bound := p.bound(t, counts)
	share := *p.budget
	share.Limit = p.budget.Steps + (p.budget.Limit-p.budget.Steps)/(len(p.tiers)-t)
	defer func() { p.budget.Steps = share.Steps }()
	for most, less := bound, 1; most > counts[t]; most, less = most-less, 2*less { // the smallest ones
		if p.assignSmallest(t, most, &share) {
			p.keep(t)
			counts[t] = most
		} else if share.Exhausted() {
			return false
		}
	}
	for ; counts[t] < bound; counts[t]++ {
		quick := share
		quick.Limit = min(share.Limit, share.Steps+quickSteps)
		found := p.insert(t, &quick)
		share.Steps = quick.Steps
		if !found && p.fewPods(t) {
			part := share
			part.Limit = share.Steps + (share.Limit-share.Steps)/2
			counts[t]++
			var known bool
			found, known = p.exact(t, counts, &part)
			counts[t]--
			if share.Steps = part.Steps; known && !found {
				return true
			}
		}
		if !found && !p.insert(t, &share) {
			return false
		}
		p.keep(t)
	}
	return true
}

// quickSteps is how long repair tries before the complete search does.
const quickSteps = 1 << 12

// assignSmallest assigns the smallest pods of a tier, and reports whether it did. It does not begin what the budget does not cover.
func (p *packer) assignSmallest(t, pods int, budget *Budget) bool {
	if pods*len(p.nodes) > budget.Limit-budget.Steps || !budget.Spend(pods*len(p.nodes)) {
		return false
	}
	p.restoreWithout(t)
	for _, i := range slices.Backward(p.tiers[t][:pods]) {
		if budget.Context.Err() != nil {
			return false
		}
		p.put(i, p.roomiest(i))
	}
	return p.repair(budget, cycle)
}

// insert assigns one more pod of a tier, and reports whether it did. It begins with the best assignment.
func (p *packer) insert(t int, budget *Budget) bool {
	for at := 0; budget.Spend(len(p.nodes)); at++ {
		p.restore(t)
		i := p.out[t][at%len(p.out[t])]
		p.put(i, p.roomiest(i))
		if p.repair(budget, cycle<<min(at, 6)) {
			return true
		}
	}
	return false
}
