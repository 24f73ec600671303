package joint

import (
	"cmp"
	"encoding/binary"
	"slices"

	"github.com/stowage-scheduler/stowage/engine/internal/nodeset"
)

// bound returns an upper bound of the pods of a tier with a node, given the number of pods of each higher tier. It considers several
// sets of nodes, small ones first, and the pods limited to each set. The number of these pods with a node is bounded by the room of
// the set, and by the bounds of the sets within it plus the pods outside of those sets.
func (p *packer) bound(t int, counts []int) int {
	sets := p.sets(t)
	caps := make([]int, len(sets))
	insides := make([][]bool, len(sets)) // by replicas
	for s, nodes := range sets {
		if p.budget.Context.Err() != nil {
			return len(p.tiers[t])
		}
		inside := make([]bool, len(p.may))
		for r, may := range p.may {
			inside[r] = may.Minus(nodes).Empty()
		}
		insides[s] = inside
		tiers, least := make([][]int, t+1), make([]int, t+1)
		for above := range tiers {
			for _, i := range p.tiers[above] {
				if inside[p.pods[i].replicas] {
					tiers[above] = append(tiers[above], i)
				}
			}
			least[above] = max(0, counts[above]-(len(p.tiers[above])-len(tiers[above])))
		}
		caps[s] = len(tiers[t])
		covered := nodeset.New(len(p.nodes))
		for within, other := range slices.Backward(sets[:s]) {
			if covered.Meets(other) || !other.Minus(nodes).Empty() {
				continue
			}
			covered.Or(other)
			for _, i := range tiers[t] {
				if insides[within][p.pods[i].replicas] {
					caps[s]--
				}
			}
			caps[s] += caps[within]
		}
		caps[s] = min(caps[s], p.roomFor(nodes, tiers, least))
	}
	return caps[len(caps)-1]
}

const (
	maxSets    = 32
	maxSetPods = 1 << 16 // sets times pods
)

// sets returns the node sets to which pods of a tier are limited, small ones first; the sets of the most pods are preferred. The set
// of all nodes is last.
func (p *packer) sets(t int) []nodeset.Set {
	type limit struct {
		nodes nodeset.Set
		pods  int
	}
	var limits []limit
	numbers := make(map[string]int)
	var key []byte
	of := make(map[int]int) // by replicas
	for _, i := range p.tiers[t] {
		r := p.pods[i].replicas
		at, ok := of[r]
		if !ok {
			key = key[:0]
			for _, word := range p.may[r] {
				key = binary.LittleEndian.AppendUint64(key, word)
			}
			if at = number(numbers, key); at == len(limits) {
				limits = append(limits, limit{nodes: p.may[r]})
			}
			of[r] = at
		}
		limits[at].pods++
	}
	limits = slices.DeleteFunc(limits, func(l limit) bool { return l.nodes.Full(len(p.nodes)) })
	slices.SortStableFunc(limits, func(a, b limit) int { return cmp.Compare(b.pods, a.pods) })
	limits = limits[:min(len(limits), maxSets, maxSetPods/(1+len(p.tiers[t])))]
	slices.SortStableFunc(limits, func(a, b limit) int { return cmp.Compare(a.nodes.Len(), b.nodes.Len()) })
	var sets []nodeset.Set
	for _, l := range limits {
		sets = append(sets, l.nodes)
	}
	return append(sets, nodeset.Full(len(p.nodes)))
}

// roomFor returns an upper bound of the pods of the last tier that fit on the nodes together, once the smallest pods of each
// other tier are placed, counts[t] of tier t. Pods are compared by several weights of the dimensions.
func (p *packer) roomFor(nodes nodeset.Set, tiers [][]int, counts []int) int {
	last := len(tiers) - 1
	most := len(tiers[last])
	for _, w := range p.weights() {
		if p.budget.Context.Err() != nil {
			break
		}
		weigh := func(of []int64) (sum float64) {
			for d, x := range of {
				sum += float64(float64(x) * p.scale[d] * w[d])
			}
			return sum
		}
		smallest := func(tier []int) []float64 {
			var sizes []float64
			for _, i := range tier {
				sizes = append(sizes, weigh(p.requests(i)))
			}
			slices.Sort(sizes)
			return sizes
		}
		left := 0.0
		for n := range nodes.All() {
			left += weigh(p.roomOn(int(n)))
		}
		left += float64(1e-9 * left) // of rounding
		for above, tier := range tiers[:last] {
			for _, size := range smallest(tier)[:counts[above]] {
				left -= size
			}
		}
		fit := 0
		for _, size := range smallest(tiers[last]) {
			if left -= size; left < 0 {
				break
			}
			fit++
		}
		most = min(most, fit)
	}
	return most
}

// weights returns several weights of the dimensions.
func (p *packer) weights() (weights [][]float64) {
	for d := range p.dims {
		for other := range p.dims {
			for _, share := range []float64{0, 0.25, 0.5, 1} {
				w := make([]float64, p.dims)
				w[other] = share
				w[d] = 1
				weights = append(weights, w)
			}
		}
	}
	return weights
}
