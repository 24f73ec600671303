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
	maxFailed    = 1 << 26 // bytes of the states that a complete search remembers
	failedEntry  = 64      // bytes of a state without its key, about
)

// exact is a complete search for an assignment of numbers of pods of some tiers.
type exact struct {
	*packer
	budget  *Budget
	pods    []int   // large ones first
	leave   []int   // by tier: how many more pods may be left outside
	to      []int   // by pods: the node
	free    []int64 // by node, by dimension
	classes []equivalent
	tries   [][]int // by pods: nodes
	failed  map[string]bool
	bytes   int // of failed
	limit   int // on bytes
	key     []byte
	// rest and least are by pods: what the pods from this one on request in all, and the lowest request, by dimension.
	rest, least [][]int64
	// largest is by pods, by tier, by dimension: the sums of the n largest requests of the pods from this one on.
	largest [][][][]int64
}

// equivalent are nodes that have equal room and may have the same pods. The first ones have pods of the search.
type equivalent struct {
	nodes []int
	taken int // nodes with pods
}

// exact finds an assignment of counts[t] pods of each tier, and makes it the current one. known is set if it would have found any.
func (p *packer) exact(t int, counts []int, budget *Budget) (found, known bool) {
	x := p.newExact(t, counts, budget)
	if found = x.assign(0); !found {
		return false, !budget.Exhausted()
	}
	p.restore(t)
	for k, i := range x.pods { // nodes may be overloaded in between
		p.put(i, x.to[k])
	}
	return true, true
}

func (p *packer) newExact(t int, counts []int, budget *Budget) *exact {
	x := &exact{
		packer: p, budget: budget, leave: make([]int, t+1), free: slices.Clone(p.room), failed: make(map[string]bool), limit: maxFailed,
	}
	for above := range t + 1 {
		x.pods = append(x.pods, p.tiers[above]...)
		x.leave[above] = len(p.tiers[above]) - counts[above]
	}
	slices.SortStableFunc(x.pods, func(a, b int) int {
		return cmp.Or(cmp.Compare(p.weight(b), p.weight(a)), cmp.Compare(p.pods[a].replicas, p.pods[b].replicas))
	})
	x.to, x.tries = make([]int, len(x.pods)), make([][]int, len(x.pods))
	var of []int // the replicas of the pods
	for _, i := range x.pods {
		of = append(of, p.pods[i].replicas)
	}
	slices.Sort(of)
	of = slices.Compact(of)
	classes := make(map[string]int)
	var key []byte
	for n := range p.nodes {
		if !slices.ContainsFunc(of, func(r int) bool { return p.may[r].Has(uint32(n)) }) {
			continue
		}
		key = key[:0]
		for _, room := range p.roomOn(n) {
			key = binary.AppendVarint(key, room)
		}
		for _, r := range of {
			key = append(key, byte(count(p.may[r].Has(uint32(n)))))
		}
		c := number(classes, key)
		if c == len(x.classes) {
			x.classes = append(x.classes, equivalent{})
		}
		x.classes[c].nodes = append(x.classes[c].nodes, n)
	}
	x.sum()
	return x
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
						sizes = append(sizes, x.requests(i)[d])
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
		for d, size := range x.requests(x.pods[k]) {
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
	if !x.budget.Spend(1+len(x.classes)/classesPerStep) || !x.tenable(k) {
		return false
	}
	state := x.state(k)
	if x.failed[state] {
		return false
	}
	if x.assignTo(k) {
		return true
	}
	if t := x.packer.pods[x.pods[k]].tier; x.leave[t] > 0 {
		x.leave[t]--
		x.to[k] = outside
		done := x.assign(k + 1)
		x.leave[t]++
		if done {
			return true
		}
	}
	if size := len(state) + failedEntry; x.bytes+size <= x.limit && !x.budget.Exhausted() {
		x.failed[state] = true
		x.bytes += size
	}
	return false
}

// classesPerStep is how many classes of nodes a search looks at in one step.
const classesPerStep = 64

// assignTo assigns the k-th pod to each node that differs, with the pods after it, and reports whether all have a place.
func (x *exact) assignTo(k int) bool {
	i := x.pods[k]
	need := x.requests(i)
	for c := range x.classes {
		class := &x.classes[c]
		if !x.fitsAlone(i, class.nodes[0]) {
			continue
		}
		taken := class.taken
		tries := x.tries[k][:0]
		tries = append(tries, class.nodes[:taken]...)
		slices.SortFunc(tries, func(a, b int) int { return cmp.Or(x.compare(a, b), cmp.Compare(a, b)) })
		tries = append(tries, class.nodes[taken:min(taken+1, len(class.nodes))]...)
		x.tries[k] = tries
		for at, n := range tries {
			if at > 0 && x.compare(tries[at-1], n) == 0 || !fits(need, x.freeOn(n)) {
				continue
			}
			if at == taken {
				class.taken++
			}
			x.take(n, need, -1)
			x.to[k] = n
			done := x.assign(k + 1)
			x.take(n, need, 1)
			class.taken = taken
			if done {
				return true
			}
		}
	}
	return false
}

// freeOn returns the free room of a node.
func (x *exact) freeOn(n int) []int64 { return x.free[n*x.dims : (n+1)*x.dims] }

func fits(need, room []int64) bool {
	for d, size := range need {
		if room[d] < size {
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

// tenable reports whether the remaining nodes have room for all pods from the k-th on, except for the pods that stay outside.
// Remaining nodes are nodes where any of these pods fits.
func (x *exact) tenable(k int) bool {
	for d := range x.dims {
		need := x.rest[k][d]
		for t, leave := range x.leave {
			sums := x.largest[k][t][d]
			need -= sums[min(leave, len(sums)-1)]
		}
		for c := range x.classes {
			if need <= 0 {
				break
			}
			class := &x.classes[c]
			for _, n := range class.nodes[:class.taken] {
				if fits(x.least[k], x.freeOn(n)) {
					need -= x.free[n*x.dims+d]
				}
			}
			if untaken := class.nodes[class.taken:]; len(untaken) > 0 && fits(x.least[k], x.freeOn(untaken[0])) {
				need -= int64(len(untaken)) * x.free[untaken[0]*x.dims+d]
			}
		}
		if need > 0 {
			return false
		}
	}
	return true
}

// compare compares two nodes of a class by free room. Equal ones are equivalent.
func (x *exact) compare(a, b int) int { return slices.Compare(x.freeOn(a), x.freeOn(b)) }

// state returns a key of the state for the pods from the k-th on: by class, the free room of nodes that have pods. Nodes where none
// of these pods fits are only counted, and classes of only such nodes are left out.
func (x *exact) state(k int) string {
	x.key = binary.AppendUvarint(x.key[:0], uint64(k))
	for _, leave := range x.leave {
		x.key = binary.AppendUvarint(x.key, uint64(leave))
	}
	for c := range x.classes {
		class := &x.classes[c]
		if class.taken == 0 || !fits(x.least[k], x.roomOn(class.nodes[0])) {
			continue
		}
		live := x.tries[k][:0]
		for _, n := range class.nodes[:class.taken] {
			if fits(x.least[k], x.freeOn(n)) {
				live = append(live, n)
			}
		}
		slices.SortFunc(live, x.compare)
		x.tries[k] = live
		x.key = binary.AppendUvarint(x.key, uint64(c))
		x.key = binary.AppendUvarint(x.key, uint64(class.taken))
		x.key = binary.AppendUvarint(x.key, uint64(len(live)))
		for _, n := range live {
			for _, free := range x.freeOn(n) {
				x.key = binary.AppendUvarint(x.key, uint64(free))
			}
		}
	}
	return string(x.key)
}
