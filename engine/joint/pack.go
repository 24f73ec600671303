package joint

import (
	"slices"

	"github.com/stowage-scheduler/stowage/engine/topology"
)

// packing divides the pods of a cell into lots, each of which shares a node.
type packing struct {
	s    *search
	cell *cell
	pods []int // replicas, ascending
	all  bool
	// exempt says, by replicas, which pods' affinity terms hold wherever the keys are.
	exempt []bool

	lots [][]int // replicas, ascending
	// at is each lot's class, taken how many lots each class has.
	at, taken []int
	settling  bool // whether affinity has to hold now
}

func (s *search) newPacking(c int, all bool) *packing {
	cell := &s.model.cells[c]
	p := &packing{s: s, cell: cell, all: all, taken: make([]int, len(cell.classes)), exempt: make([]bool, len(s.left))}
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
		at, taken := slices.Clone(p.at), slices.Clone(p.taken)
		var before []int
		if l == len(p.lots) {
			p.lots, p.at = append(p.lots, []int{r}), append(p.at, nowhere)
		} else {
			before = p.lots[l]
			p.lots[l] = append(slices.Clip(before), r)
		}
		if p.rematch(l) && p.place(i+1, l) {
			return true
		}
		if before == nil {
			p.lots = p.lots[:l]
		} else {
			p.lots[l] = before
		}
		p.at, p.taken = at, taken
	}
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

// rematch finds a class for a lot that has changed, moving others if need be.
func (p *packing) rematch(l int) bool {
	if c := p.at[l]; c != nowhere {
		if p.fits(l, c) {
			return true
		}
		p.taken[c]--
		p.at[l] = nowhere
	}
	return p.match(l, make([]bool, len(p.cell.classes)))
}

func (p *packing) match(l int, visited []bool) bool {
	for c := range p.cell.classes {
		if visited[c] || !p.fits(l, c) {
			continue
		}
		visited[c] = true
		if p.taken[c] < len(p.cell.classes[c].nodes) {
			p.taken[c]++
			p.at[l] = c
			return true
		}
		for other, at := range p.at {
			if at == c && p.match(other, visited) {
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
			sum += x.amounts[r]
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
	p.settling = true
	clear(p.taken)
	for l := range p.at {
		p.at[l] = nowhere
	}
	for l := range p.lots {
		if !p.match(l, make([]bool, len(p.taken))) {
			p.settling = false
			return false
		}
	}
	return true
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
