package joint

import (
	"cmp"
	"encoding/binary"
	"slices"
)

// fewPods reports whether a complete search for pods of some tiers may end in time.
func (p *packer) fewPods(t int) bool {
	pods := 0
	for above := range t + 1 {
		pods += len(p.tiers[above])
	}
	return pods <= maxExactPods
}

const (
	maxExactPods = 64
	maxFailed    = 1 << 19 // states that a complete search remembers
)

// exact is a complete search for an assignment of numbers of pods of some tiers.
type exact struct {
	*packer
	budget *Budget
	pods   []int   // large ones first
	leave  []int   // by tier: how many more pods may be left outside
	to     []int   // by pods: the node
	free   []int64 // by node, by dimension
	order  []int   // nodes
	class  []int   // by node: nodes of a class have equal room and may have the same pods
	failed map[string]bool
	key    []byte
	// rest and least are by pods: what the pods from this one on request in all, and the lowest request, by dimension.
	rest, least [][]int64
	// largest is by pods, by tier, by dimension: the sums of the n largest requests of the pods from this one on.
	largest [][][][]int64
}

// exact finds an assignment of counts[t] pods of each tier, and makes it the current one. known is set if it would have found any.
func (p *packer) exact(t int, counts []int, budget *Budget) (found, known bool) {
	x := &exact{packer: p, budget: budget, leave: make([]int, t+1), free: slices.Clone(p.room), failed: make(map[string]bool)}
	for above := range t + 1 {
		x.pods = append(x.pods, p.tiers[above]...)
		x.leave[above] = len(p.tiers[above]) - counts[above]
	}
	slices.SortStableFunc(x.pods, func(a, b int) int {
		return cmp.Or(cmp.Compare(p.weight(b), p.weight(a)), cmp.Compare(p.pods[a].replicas, p.pods[b].replicas))
	})
	x.to = make([]int, len(x.pods))
	classes := make(map[string]int)
	for n := range p.nodes {
		var key []byte
		for d := range p.dims {
			key = binary.AppendVarint(key, p.room[n*p.dims+d])
		}
		for r := range p.may {
			key = append(key, byte(count(p.may[r][n])))
		}
		c, ok := classes[string(key)]
		if !ok {
			c = len(classes)
			classes[string(key)] = c
		}
		x.class, x.order = append(x.class, c), append(x.order, n)
	}
	x.sum()
	if found = x.assign(0); !found {
		return false, !budget.Exhausted()
	}
	p.restore(t)
	for k, i := range x.pods { // nodes may be overloaded in between
		p.put(i, x.to[k])
	}
	return true, true
}

// sum computes rest, least and largest.
func (x *exact) sum() {
	n := len(x.pods)
	x.rest, x.least, x.largest = make([][]int64, n+1), make([][]int64, n+1), make([][][][]int64, n+1)
	for k := n; k >= 0; k-- {
		x.rest[k], x.least[k], x.largest[k] = make([]int64, x.dims), make([]int64, x.dims), make([][][]int64, len(x.leave))
		for t, leave := range x.leave {
			x.largest[k][t] = make([][]int64, x.dims)
			for d := range x.dims {
				var sizes []int64
				for _, i := range x.pods[k:] {
					if x.packer.pods[i].tier == t {
						sizes = append(sizes, x.of(i)[d])
					}
				}
				slices.SortFunc(sizes, func(a, b int64) int { return cmp.Compare(b, a) })
				sums := []int64{0}
				for _, size := range sizes[:min(leave, len(sizes))] {
					sums = append(sums, sums[len(sums)-1]+size)
				}
				x.largest[k][t][d] = sums
			}
		}
		if k == n {
			continue
		}
		for d, size := range x.of(x.pods[k]) {
			x.rest[k][d] = x.rest[k+1][d] + size
			if x.least[k][d] = size; k+1 < n {
				x.least[k][d] = min(size, x.least[k+1][d])
			}
		}
	}
}

// assign assigns the pods from the k-th on and reports whether it did.
func (x *exact) assign(k int) bool {
	if k == len(x.pods) {
		return true
	}
	if !x.budget.Spend(1) || !x.tenable(k) {
		return false
	}
	state := x.state(k)
	if x.failed[state] {
		return false
	}
	i := x.pods[k]
	need := x.of(i)
	last := outside
	for _, n := range slices.Clone(x.order) {
		if last != outside && x.compare(last, n) == 0 || !x.may[x.packer.pods[i].replicas][n] || !x.fits(n, need) {
			continue
		}
		last = n
		x.take(n, need, -1)
		x.to[k] = n
		done := x.assign(k + 1)
		x.take(n, need, 1)
		if done {
			return true
		}
	}
	if t := x.packer.pods[i].tier; x.leave[t] > 0 {
		x.leave[t]--
		x.to[k] = outside
		done := x.assign(k + 1)
		x.leave[t]++
		if done {
			return true
		}
	}
	if len(x.failed) < maxFailed && !x.budget.Exhausted() {
		x.failed[state] = true
	}
	return false
}

func (x *exact) fits(n int, need []int64) bool {
	for d, size := range need {
		if x.free[n*x.dims+d] < size {
			return false
		}
	}
	return true
}

func (x *exact) take(n int, need []int64, by int64) {
	for d, size := range need {
		x.free[n*x.dims+d] += by * size
	}
}

// tenable reports whether the nodes that any of the pods from the k-th on fits on have room for all of them but those left outside.
func (x *exact) tenable(k int) bool {
	for d := range x.dims {
		need := x.rest[k][d]
		for t, leave := range x.leave {
			sums := x.largest[k][t][d]
			need -= sums[min(leave, len(sums)-1)]
		}
		for n := range x.nodes {
			if need > 0 && x.fits(n, x.least[k]) {
				need -= x.free[n*x.dims+d]
			}
		}
		if need > 0 {
			return false
		}
	}
	return true
}

// compare compares two nodes by class and free room. Equal ones are equivalent.
func (x *exact) compare(a, b int) int {
	c := cmp.Compare(x.class[a], x.class[b])
	for d := 0; d < x.dims && c == 0; d++ {
		c = cmp.Compare(x.free[a*x.dims+d], x.free[b*x.dims+d])
	}
	return c
}

// state sorts the nodes, and returns what the pods from the k-th on find.
func (x *exact) state(k int) string {
	slices.SortFunc(x.order, func(a, b int) int { return cmp.Or(x.compare(a, b), cmp.Compare(a, b)) })
	x.key = binary.AppendUvarint(x.key[:0], uint64(k))
	for _, leave := range x.leave {
		x.key = binary.AppendUvarint(x.key, uint64(leave))
	}
	for _, n := range x.order {
		x.key = binary.AppendUvarint(x.key, uint64(x.class[n]))
		for d := range x.dims {
			x.key = binary.AppendUvarint(x.key, uint64(x.free[n*x.dims+d]))
		}
	}
	return string(x.key)
}
