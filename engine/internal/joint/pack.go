package joint

import (
	"slices"

	"github.com/stowage-scheduler/stowage/engine/internal/saturating"
	"github.com/stowage-scheduler/stowage/engine/internal/topology"
)

// packing divides the pods of a cell into lots, each of which shares a node.
type packing struct {
	s    *search
	cell *cell
	pods []int // replicas, ascending
	all  bool
	// exempt says, by replicas, which pods' affinity terms hold wherever the keys are.
	exempt []bool

	lots [][]int // replicas
	// at is each lot's class, taken how many lots each class has.
	at, taken []int
	settling  bool // whether affinity has to hold now
	// visited says, by class, in which round of moving lots it was last thought of.
	visited []int
	round   int
}

func (s *search) newPacking(c int, all bool) *packing {
	cell := &s.model.cells[c]
	p := &packing{s: s, cell: cell, all: all, exempt: make([]bool, len(s.left))}
	p.taken, p.visited = make([]int, len(cell.classes)), make([]int, len(cell.classes))
	for r, n := range s.in[c] {
		for range n {
			p.pods = append(p.pods, r)
		}
		p.exempt[r] = n > 0 && s.exempt(r, 1)
	}
	return p
}

// place places the pods from the i-th on and reports whether it did. Of equal pods, one goes to no earlier lot than those
// before it.
func (p *packing) place(i, first int) bool {
	if i == len(p.pods) {
		return p.settle()
	}
	r := p.pods[i]
	if i == 0 || p.pods[i-1] != r {
		first = 0
	}
	for l := first; l <= len(p.lots); l++ {
		if l < len(p.lots) && (!p.joins(r, l) || p.seen(l)) {
			continue
		}
		if !p.s.effort.Spend(1) {
			return false
		}
		before := slices.Clone(p.at)
		if p.join(r, l) {
			if p.place(i+1, l) {
				return true
			}
			p.leave(l, before)
		}
	}
	return false
}

// join puts a pod into a lot, which may be a new one, and reports whether it did: if the lots do not all find a class
// then, nothing changes.
func (p *packing) join(r, l int) bool {
	if l == len(p.lots) {
		p.lots, p.at = append(p.lots, nil), append(p.at, nowhere)
	}
	lot := p.lots[l]
	p.lots[l] = append(slices.Clip(lot), r)
	was := p.at[l]
	if was != nowhere {
		if p.fits(l, was) {
			return true
		}
		p.taken[was]--
		p.at[l] = nowhere
	}
	if p.matches(l) {
		return true
	}
	if was == nowhere {
		p.lots, p.at = p.lots[:l], p.at[:l]
		return false
	}
	p.taken[was]++
	p.lots[l], p.at[l] = lot, was
	return false
}

// leave takes the last pod out of a lot and puts the lots where they were before it joined.
func (p *packing) leave(l int, at []int) {
	for _, c := range p.at {
		p.taken[c]--
	}
	for _, c := range at {
		p.taken[c]++
	}
	p.at = at
	if p.lots[l] = p.lots[l][:len(p.lots[l])-1]; len(p.lots[l]) == 0 {
		p.lots = p.lots[:l]
	}
}

// extend packs one pod more than before, of which no pod goes to another lot. It changes nothing if it fails.
func (p *packing) extend(before *packing, r int) bool {
	p.lots, p.at, p.taken = slices.Clone(before.lots), slices.Clone(before.at), slices.Clone(before.taken)
	for l := range len(p.lots) + 1 {
		if l < len(p.lots) && !p.joins(r, l) {
			continue
		}
		if !p.s.effort.Spend(1) {
			break
		}
		if p.join(r, l) {
			return true
		}
	}
	p.lots, p.at = nil, nil
	clear(p.taken)
	return false
}

// nowhere is the class of a lot without one.
const nowhere = -1

// joins reports whether nothing keeps a pod from sharing a node with a lot.
func (p *packing) joins(r, l int) bool {
	for _, other := range p.lots[l] {
		if p.s.clash[r][other] {
			return false
		}
		for _, k := range p.s.parted[r][other] {
			if p.cell.domains[k] != topology.None {
				return false
			}
		}
	}
	return true
}

// seen reports whether an earlier lot is the same.
func (p *packing) seen(l int) bool {
	return slices.ContainsFunc(p.lots[:l], func(lot []int) bool { return slices.Equal(lot, p.lots[l]) })
}

// matches finds a class for a lot that has none, moving others if need be. It changes nothing if it fails.
func (p *packing) matches(l int) bool {
	p.round++
	return p.match(l)
}

func (p *packing) match(l int) bool {
	for c := range p.cell.classes {
		if p.visited[c] != p.round && p.taken[c] < len(p.cell.classes[c].nodes) && p.fits(l, c) {
			p.taken[c]++
			p.at[l] = c
			return true
		}
	}
	for c := range p.cell.classes {
		if p.visited[c] == p.round || !p.fits(l, c) {
			continue
		}
		p.visited[c] = p.round
		for other, at := range p.at {
			if at == c && p.match(other) {
				p.at[l] = c
				return true
			}
		}
	}
	return false
}

// fits reports whether a node of a class can take a lot, or one to which pods are added.
func (p *packing) fits(l, c int) bool {
	k := &p.cell.classes[c]
	lot := p.lots[l]
	for _, r := range lot {
		if !k.allowed[r] {
			return false
		}
	}
	for i := range p.s.resources {
		x := &p.s.resources[i]
		var sum int64
		checked := false
		for _, r := range lot {
			sum = saturating.Add(sum, x.amounts[r])
			checked = checked || x.checked[r]
		}
		if checked && sum > k.room[i] {
			return false
		}
	}
	for i := range p.s.evens {
		if e := &p.s.evens[i]; p.s.totals[i] == nil && slices.Contains(lot, e.replicas) {
			total := k.counts[i] + e.beside(p.cell.counted[i])
			for _, r := range lot {
				if e.matches[r] && p.cell.counted[i] {
					total++
				}
			}
			if total-e.MaxSkew > e.low {
				return false
			}
		}
	}
	return !p.settling || p.accompanied(lot, k)
}

// settle finds classes for the lots that are also right for what is only known once all pods are placed.
func (p *packing) settle() bool {
	if !p.all || !slices.ContainsFunc(p.s.company, func(pods []int32) bool { return pods == nil }) {
		return true
	}
	at := slices.Clone(p.at)
	clear(p.taken)
	for l := range p.at {
		p.at[l] = nowhere
	}
	p.settling = true
	settled := true
	for l := 0; settled && l < len(p.lots); l++ {
		settled = p.matches(l)
	}
	p.settling = false
	if !settled {
		clear(p.taken)
		for _, c := range at {
			p.taken[c]++
		}
		p.at = at
	}
	return settled
}

// accompanied reports whether a lot's affinity terms that are about single keys hold on a node of a class.
func (p *packing) accompanied(lot []int, k *class) bool {
	for i := range p.s.withs {
		w := &p.s.withs[i]
		if p.s.company[i] != nil || p.exempt[w.replicas] || k.met[i] || !slices.Contains(lot, w.replicas) {
			continue
		}
		r := &p.s.g.replicas[w.replicas]
		helpers := -count(r.wanted[w.replicas])
		for _, other := range lot {
			helpers += count(r.wanted[other])
		}
		if helpers == 0 {
			return false
		}
	}
	return true
}

// spots returns where the pods go.
func (p *packing) spots() []Spot {
	var spots []Spot
	next := make([]int, len(p.taken))
	for l, lot := range p.lots {
		c := p.at[l]
		for _, r := range lot {
			spots = append(spots, Spot{r, p.cell.classes[c].nodes[next[c]]})
		}
		next[c]++
	}
	return spots
}
