package joint

import (
	"slices"

	"github.com/stowage-scheduler/stowage/engine/internal/saturating"
	"github.com/stowage-scheduler/stowage/engine/internal/topology"
)

// packing divides the pods of a cell into bins, each for one node, and matches the bins to classes of nodes.
type packing struct {
	s    *search
	cell *cell
	pods []int // replicas, ascending
	all  bool  // whether all pods of the group are assigned
	// first reports, by replicas, whether the pod is the first of its set, as in rule.Affinity.First.
	first []bool

	bins     [][]int // replicas
	class    []int   // by bin
	settling bool    // whether affinity terms with single keys must hold
	// visited holds, by class, the last round of matching that tried to move its bins.
	visited []int
	round   int
}

func (s *search) newPacking(c int, all bool) *packing {
	cell := &s.cells[c]
	p := &packing{s: s, cell: cell, all: all, first: make([]bool, len(s.left)), visited: make([]int, len(cell.classes))}
	for r, n := range s.in[c] {
		for range n {
			p.pods = append(p.pods, r)
		}
		p.first[r] = n > 0 && s.first(r, cell, 1)
	}
	return p
}

// place packs the pods from the i-th on and reports whether they fit. Equal pods go to bins in ascending order.
func (p *packing) place(i, first int) bool {
	if i == len(p.pods) {
		return p.settle()
	}
	r := p.pods[i]
	if i == 0 || p.pods[i-1] != r {
		first = 0
	}
	for b := first; b <= len(p.bins); b++ {
		if b < len(p.bins) && (!p.joins(r, b) || p.repeats(b)) {
			continue
		}
		if !p.s.budget.Spend(1) {
			return false
		}
		bins, class := slices.Clone(p.bins), slices.Clone(p.class)
		if p.join(r, b) && p.place(i+1, b) {
			return true
		}
		p.bins, p.class = bins, class
	}
	return false
}

// join puts a pod into a bin, which may be a new one, and reports whether every bin has a class then.
func (p *packing) join(r, b int) bool {
	if b == len(p.bins) {
		p.bins, p.class = append(p.bins, nil), append(p.class, unmatched)
	}
	p.bins[b] = append(slices.Clip(p.bins[b]), r)
	if p.class[b] != unmatched && p.fits(b, p.class[b]) {
		return true
	}
	p.class[b] = unmatched
	return p.match(b)
}

// extend copies a packing, adds a pod, and reports whether the pod fits. The other pods stay in their bins.
func (p *packing) extend(before *packing, r int) bool {
	for b := range len(before.bins) + 1 {
		if b < len(before.bins) && !before.joins(r, b) {
			continue
		}
		if !p.s.budget.Spend(1) {
			break
		}
		p.bins, p.class = slices.Clone(before.bins), slices.Clone(before.class)
		if p.join(r, b) {
			return true
		}
	}
	p.bins, p.class = nil, nil
	return false
}

// unmatched is the class of a bin without one.
const unmatched = -1

// joins reports whether no exclusion keeps a pod out of a bin.
func (p *packing) joins(r, b int) bool {
	for _, other := range p.bins[b] {
		for _, k := range p.s.exclusive[r][other] {
			if p.cell.domains[k] != topology.None {
				return false
			}
		}
	}
	return true
}

// repeats reports whether an earlier bin has equal pods.
func (p *packing) repeats(b int) bool {
	return slices.ContainsFunc(p.bins[:b], func(bin []int) bool { return slices.Equal(bin, p.bins[b]) })
}

// match finds a class for a bin without one. It changes the classes of other bins if necessary, but only if it succeeds.
func (p *packing) match(b int) bool {
	p.round++
	return p.augment(b)
}

func (p *packing) augment(b int) bool {
	for c, taken := range p.taken() {
		if p.visited[c] != p.round && taken < len(p.cell.classes[c].nodes) && p.fits(b, c) {
			p.class[b] = c
			return true
		}
	}
	for c := range p.cell.classes {
		if p.visited[c] == p.round || !p.fits(b, c) {
			continue
		}
		p.visited[c] = p.round
		for other, class := range p.class {
			if class == c && p.augment(other) {
				p.class[b] = c
				return true
			}
		}
	}
	return false
}

// taken returns the number of bins of each class.
func (p *packing) taken() []int {
	taken := make([]int, len(p.cell.classes))
	for _, c := range p.class {
		if c != unmatched {
			taken[c]++
		}
	}
	return taken
}

// fits reports whether a node of a class can take a bin, possibly with more pods.
func (p *packing) fits(b, c int) bool {
	k := &p.cell.classes[c]
	bin := p.bins[b]
	for _, r := range bin {
		if !k.allowed[r] {
			return false
		}
	}
	for i := range p.s.resources {
		x := &p.s.resources[i]
		if x.sum(bin) > k.room[i] && slices.ContainsFunc(bin, func(r int) bool { return x.required[r] }) {
			return false
		}
	}
	for i := range p.s.spread {
		constraint := &p.s.spread[i]
		if p.s.spreads[i] != nil || !slices.Contains(bin, constraint.replicas) {
			continue
		}
		others := k.counts[i] - constraint.own(p.cell.counted[i])
		if p.cell.counted[i] {
			others += matching(constraint.matches, bin)
		}
		if !constraint.AllowsCount(others) {
			return false
		}
	}
	for i := range p.s.others {
		o := &p.s.others[i]
		if p.s.counted[i] != nil || !slices.Contains(bin, o.replicas) {
			continue
		}
		more := -o.own()
		for _, r := range bin {
			more += o.weights[r]
		}
		if saturating.Add(k.excess[i], more) > 0 {
			return false
		}
	}
	return !p.settling || p.affinityHolds(bin, k)
}

// matching returns the number of pods of a bin that match.
func matching(matches []bool, bin []int) (pods int64) {
	for _, r := range bin {
		pods += count(matches[r])
	}
	return pods
}

// settle matches the bins with the affinity terms with single keys again, once all pods are assigned.
func (p *packing) settle() bool {
	if !p.all || !p.s.settles() {
		return true
	}
	before := p.class
	p.class = slices.Repeat([]int{unmatched}, len(before))
	p.settling = true
	settled := true
	for b := 0; settled && b < len(p.bins); b++ {
		settled = p.match(b)
	}
	p.settling = false
	if !settled {
		p.class = before
	}
	return settled
}

// affinityHolds reports whether the affinity terms with single keys hold for a bin on a node of a class.
func (p *packing) affinityHolds(bin []int, k *class) bool {
	for i := range p.s.terms {
		t := &p.s.terms[i]
		if !p.s.keys[t.key].single || p.first[t.replicas] || k.met[i] || !slices.Contains(bin, t.replicas) {
			continue
		}
		if matching(t.matches, bin) == t.own() {
			return false
		}
	}
	return true
}

// assignments returns where the pods go.
func (p *packing) assignments() []Assignment {
	var assigned []Assignment
	next := make([]int, len(p.cell.classes))
	for b, bin := range p.bins {
		c := p.class[b]
		for _, r := range bin {
			assigned = append(assigned, Assignment{r, p.cell.classes[c].nodes[next[c]]})
		}
		next[c]++
	}
	return assigned
}
