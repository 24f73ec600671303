package change

import (
	"cmp"
	"slices"

	"github.com/stowage-scheduler/stowage/engine/internal/cluster"
	"github.com/stowage-scheduler/stowage/engine/internal/saturating"
)

// kind is equal pods that may go.
type kind struct {
	cluster.Occupant
	gives   []int64 // what one of them gives, by need
	wanted  bool    // whether the pod's required affinity asks for them
	leaving bool    // whether they are terminating
}

// picking looks for the fewest pods that together give what is needed.
type picking struct {
	kinds  []kind
	needs  []int64
	chosen []int // by kind: how many go

	// Of the wanted pods, of which there are together in all, so many may go as leave says, or all if the pod is one
	// itself; gone are gone already.
	leave, together, gone int
	self                  bool

	most  [][]int64 // by kind, by need: the most that one of this kind and those behind gives
	picks int
}

// pick reports whether enough can be picked. As few pods as can be are: of those sets the one whose highest priority is
// lowest, and of those the first. If it takes too long to tell, it is one of which none could be left out.
func (p *picking) pick() bool {
	slices.SortStableFunc(p.kinds, func(a, b kind) int {
		return cmp.Or(cmp.Compare(a.Priority, b.Priority), cmp.Compare(bit(b.leaving), bit(a.leaving)))
	})
	p.chosen = make([]int, len(p.kinds))
	all := 0
	sums := make([]int64, len(p.needs))
	for i := range p.kinds {
		k := &p.kinds[i]
		all += k.Count
		for j, gives := range k.gives {
			sums[j] = saturating.Add(sums[j], saturating.Mul(gives, int64(k.Count)))
		}
	}
	for j, need := range p.needs {
		if need > sums[j] {
			return false
		}
	}
	for pods := 0; pods <= all; pods++ {
		for last := 0; last <= len(p.kinds); last++ {
			if last < len(p.kinds) && (last == 0 || p.kinds[last].Priority == p.kinds[last-1].Priority) {
				continue
			}
			p.bound(last)
			found := p.choose(0, last, pods, p.gone)
			if p.picks > maxPicksOfNode {
				return p.shrink()
			}
			if found {
				return true
			}
		}
	}
	return false
}

func bit(b bool) int {
	if b {
		return 1
	}
	return 0
}

// bound finds what those of the kinds before last can give at most.
func (p *picking) bound(last int) {
	p.most = slices.Grow(p.most[:0], last+1)[:last+1]
	p.most[last] = make([]int64, len(p.needs))
	for i := last - 1; i >= 0; i-- {
		p.most[i] = slices.Clone(p.most[i+1])
		for j, gives := range p.kinds[i].gives {
			p.most[i][j] = max(p.most[i][j], gives)
		}
	}
}

// choose chooses a number of pods from one kind on, up to before another one.
func (p *picking) choose(from, last, pods, wanted int) bool {
	if p.picks++; p.picks > maxPicksOfNode {
		return false
	}
	enough := true
	for j, need := range p.needs {
		if need > saturating.Mul(int64(pods), p.most[from][j]) {
			return false
		}
		enough = enough && need <= 0
	}
	if pods == 0 {
		return enough && (wanted <= p.leave || p.self && wanted == p.together)
	}
	if from == last {
		return false
	}
	k := &p.kinds[from]
	for n := min(pods, k.Count); n >= 0; n-- {
		p.give(k, int64(n))
		p.chosen[from] = n
		if p.choose(from+1, last, pods-n, wanted+n*bit(k.wanted)) {
			p.give(k, -int64(n))
			return true
		}
		p.give(k, -int64(n))
	}
	p.chosen[from] = 0
	return false
}

func (p *picking) give(k *kind, pods int64) {
	for j, gives := range k.gives {
		p.needs[j] -= gives * pods
	}
}

// shrink lets all pods go, and then those stay of the highest priority first that can.
func (p *picking) shrink() bool {
	wanted := p.gone
	for i := range p.kinds {
		k := &p.kinds[i]
		p.chosen[i] = k.Count
		p.give(k, int64(k.Count))
		wanted += k.Count * bit(k.wanted)
	}
	for _, first := range []bool{true, false} { // those that should stay
		for i := len(p.kinds) - 1; i >= 0; i-- {
			k := &p.kinds[i]
			for p.chosen[i] > 0 && k.wanted == first {
				p.give(k, -1)
				if slices.ContainsFunc(p.needs, func(need int64) bool { return need > 0 }) {
					p.give(k, 1)
					break
				}
				p.chosen[i]--
				wanted -= bit(k.wanted)
			}
		}
	}
	return wanted <= p.leave || p.self && wanted == p.together
}
