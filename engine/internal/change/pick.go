package change

import (
	"cmp"
	"slices"

	"github.com/stowage-scheduler/stowage/engine/internal/cluster"
	"github.com/stowage-scheduler/stowage/engine/internal/saturating"
)

// kind is identical pods that may become victims.
type kind struct {
	cluster.Occupant
	gives       []int64 // what one of them frees, by need
	matches     bool    // whether they match the required affinity terms of the pod
	terminating bool
}

// picker finds a minimum-size set of victims that frees what is needed.
type picker struct {
	kinds  []kind
	needs  []int64
	chosen []int // by kind: number of victims

	// Of the matching pods, spare may go, or all if the pod matches its own terms; gone of them are victims already.
	spare, matching, gone int
	self                  bool

	most  [][]int64 // by kind, by need: the maximum that one pod of this kind or a later one frees
	picks int
}

// pick finds a minimum-size victim set and reports whether there is one. Ties go to the lowest maximum priority, then
// to order. If the search exceeds its budget, the result is a set without a superfluous victim.
func (p *picker) pick() bool {
	slices.SortStableFunc(p.kinds, func(a, b kind) int {
		return cmp.Or(cmp.Compare(a.Priority, b.Priority), cmp.Compare(bit(b.terminating), bit(a.terminating)))
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

// bound computes most for the kinds before last.
func (p *picker) bound(last int) {
	p.most = slices.Grow(p.most[:0], last+1)[:last+1]
	p.most[last] = make([]int64, len(p.needs))
	for i := last - 1; i >= 0; i-- {
		p.most[i] = slices.Clone(p.most[i+1])
		for j, gives := range p.kinds[i].gives {
			p.most[i][j] = max(p.most[i][j], gives)
		}
	}
}

// choose picks a number of victims from the kinds from..last-1.
func (p *picker) choose(from, last, pods, matched int) bool {
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
		return enough && (matched <= p.spare || p.self && matched == p.matching)
	}
	if from == last {
		return false
	}
	k := &p.kinds[from]
	for n := min(pods, k.Count); n >= 0; n-- {
		p.give(k, int64(n))
		p.chosen[from] = n
		if p.choose(from+1, last, pods-n, matched+n*bit(k.matches)) {
			p.give(k, -int64(n))
			return true
		}
		p.give(k, -int64(n))
	}
	p.chosen[from] = 0
	return false
}

func (p *picker) give(k *kind, pods int64) {
	for j, gives := range k.gives {
		p.needs[j] -= gives * pods
	}
}

// shrink makes all pods victims and then reprieves as many as possible, highest priority first.
func (p *picker) shrink() bool {
	matched := p.gone
	for i := range p.kinds {
		k := &p.kinds[i]
		p.chosen[i] = k.Count
		p.give(k, int64(k.Count))
		matched += k.Count * bit(k.matches)
	}
	for _, matches := range []bool{true, false} { // matching pods first
		for i := len(p.kinds) - 1; i >= 0; i-- {
			k := &p.kinds[i]
			for p.chosen[i] > 0 && k.matches == matches {
				p.give(k, -1)
				if slices.ContainsFunc(p.needs, func(need int64) bool { return need > 0 }) {
					p.give(k, 1)
					break
				}
				p.chosen[i]--
				matched -= bit(k.matches)
			}
		}
	}
	return matched <= p.spare || p.self && matched == p.matching
}
