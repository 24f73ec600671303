package joint

import (
	"cmp"
	"encoding/binary"
	"math"
	"slices"

	"github.com/stowage-scheduler/stowage/engine/internal/nodeset"
)

// Packs reports whether Most applies: the pods meet each other in resources alone.
func (g *Group) Packs() bool {
	for i := range g.replicas {
		r := &g.replicas[i]
		among := func(e exclusion) bool { return slices.Contains(e.excludes, true) }
		if len(r.spread) > 0 || r.affinity != nil || slices.ContainsFunc(r.exclusions, among) {
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
// which is a valid assignment. priorities are those of the replicas. optimal is set if it proved that no assignment has more.
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

// outside is the place of a pod without a node.
const outside = -1

// packer assigns pods to nodes.
type packer struct {
	budget *Budget
	dims   int
	nodes  []uint32  // that some pod fits on alone
	room   []int64   // by node, by dimension
	scale  []float64 // by dimension: makes the mean room of a node 1
	pods   []packed
	size   []int64       // by pod, by dimension
	may    []nodeset.Set // by replicas: the nodes that a pod fits on alone
	tiers  [][]int       // pods by priority, highest first; small pods first
	sizes  []float64     // by pod: its weight
	supply []float64     // by replicas: the room of the nodes that a pod may go to
	demand []float64     // by node: how much of its room pods need

	best []int // by pod: its node in the best assignment
	// The current assignment, of pods of some tiers, which may overload nodes.
	at       []int     // by pod
	inside   []int     // pods with a node
	out      [][]int   // by tier: pods without one
	position []int     // by pod: where it is in inside or out
	used     []int64   // by node, by dimension
	over     []float64 // by node: its overload
	overs    int       // nodes with one
	draws    uint64
}

type packed struct{ replicas, tier int }

func newPacker(g *Group, order []uint32, priorities []int32, budget *Budget) *packer {
	p := &packer{budget: budget, dims: len(g.resources)}
	allowed, useful := make([]nodeset.Set, len(g.replicas)), nodeset.New(g.nodes)
	for i := range allowed {
		allowed[i] = g.allowed(i)
		useful.Or(allowed[i])
	}
	for _, n := range order {
		if useful.Has(n) {
			p.nodes = append(p.nodes, n)
		}
	}
	for d := range g.resources {
		total := 0.0
		for _, n := range p.nodes {
			total += float64(max(0, g.resources[d].room(n)))
		}
		p.scale = append(p.scale, float64(len(p.nodes))/max(1, total))
	}
	for _, n := range p.nodes {
		for d := range g.resources {
			p.room = append(p.room, max(0, g.resources[d].room(n)))
		}
	}
	tiers := slices.Compact(slices.Sorted(slices.Values(priorities)))
	slices.Reverse(tiers)
	p.tiers = make([][]int, len(tiers))
	for i, r := range g.replicas {
		may := nodeset.New(len(p.nodes))
		for n, node := range p.nodes {
			if allowed[i].Has(node) {
				may.Add(uint32(n))
			}
		}
		p.may = append(p.may, may)
		if may.Empty() {
			continue
		}
		t := slices.Index(tiers, priorities[i])
		for range r.count {
			p.tiers[t] = append(p.tiers[t], len(p.pods))
			p.pods = append(p.pods, packed{i, t})
			for d := range g.resources {
				p.size = append(p.size, g.resources[d].requests[i])
			}
		}
	}
	for i := range p.pods {
		p.sizes = append(p.sizes, p.weight(i))
	}
	for _, tier := range p.tiers {
		slices.SortStableFunc(tier, func(a, b int) int { return cmp.Compare(p.sizes[a], p.sizes[b]) })
	}
	p.best = slices.Repeat([]int{outside}, len(p.pods))
	p.at, p.position = make([]int, len(p.pods)), make([]int, len(p.pods))
	p.used, p.over, p.out = make([]int64, len(p.room)), make([]float64, len(p.nodes)), make([][]int, len(p.tiers))
	return p
}

// fitsAlone reports whether a pod fits on a node without pods of the group.
func (p *packer) fitsAlone(i, n int) bool { return p.may[p.pods[i].replicas].Has(uint32(n)) }

// of returns what a pod requests by dimension.
func (p *packer) of(i int) []int64 { return p.size[i*p.dims : (i+1)*p.dims] }

// roomOn returns the room of a node without pods of the group by dimension.
func (p *packer) roomOn(n int) []int64 { return p.room[n*p.dims : (n+1)*p.dims] }

// weight is the size of a pod in all dimensions.
func (p *packer) weight(i int) float64 { return p.weigh(p.of(i)) }

// weigh adds amounts of all dimensions.
func (p *packer) weigh(amounts []int64) (sum float64) {
	for d, amount := range amounts {
		sum += float64(float64(amount) * p.scale[d])
	}
	return sum
}

// left is the room of a node in all dimensions, less than 0 if it is overloaded.
func (p *packer) left(n int) (sum float64) {
	for d := range p.dims {
		sum += float64(float64(p.room[n*p.dims+d]-p.used[n*p.dims+d]) * p.scale[d])
	}
	return sum
}

// random returns a number below n. The same search draws the same numbers.
func (p *packer) random(n int) int {
	p.draws += 0x9e3779b97f4a7c15
	x := p.draws
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return int((x ^ x>>31) >> 33 * uint64(n) >> 31)
}

// fill assigns pods of a tier in addition to those of higher ones, and reports whether it proved that no more have a node.
func (p *packer) fill(t int) bool {
	counts := p.counts(p.best)[:t+1]
	for _, w := range p.ways() {
		if counts[t] == len(p.tiers[t]) || !p.budget.Spend(len(p.tiers[t])) {
			break
		}
		p.restore(t)
		for _, i := range p.tiers[t] {
			p.put(i, outside)
		}
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
		if p.smallest(t, most, &share) {
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

// restore makes the best assignment of the pods of some tiers the current one.
func (p *packer) restore(t int) {
	clear(p.used)
	clear(p.over)
	p.overs, p.inside = 0, p.inside[:0]
	for above := range p.out {
		p.out[above] = p.out[above][:0]
	}
	for above := range t + 1 {
		for _, i := range p.tiers[above] {
			p.at[i] = outside
			p.position[i] = len(p.out[above])
			p.out[above] = append(p.out[above], i)
			if p.best[i] != outside {
				p.put(i, p.best[i])
			}
		}
	}
}

// keep makes the current assignment of some tiers the best one. Pods of lower tiers stay where they still have room.
func (p *packer) keep(t int) {
	for above := range t + 1 {
		for _, i := range p.tiers[above] {
			p.best[i] = p.at[i]
		}
	}
	used := slices.Clone(p.used)
	for _, tier := range p.tiers[t+1:] {
		for _, i := range tier {
			n := p.best[i]
			if n == outside {
				continue
			}
			on, room := used[n*p.dims:(n+1)*p.dims], p.roomOn(n)
			for d, size := range p.of(i) {
				if on[d]+size > room[d] {
					p.best[i] = outside
				}
			}
			if p.best[i] != outside {
				for d, size := range p.of(i) {
					on[d] += size
				}
			}
		}
	}
}

// put moves a pod to a node, or outside.
func (p *packer) put(i, n int) {
	from := p.at[i]
	if (from == outside) != (n == outside) {
		list, to := &p.inside, &p.out[p.pods[i].tier]
		if from == outside {
			list, to = to, list
		}
		last := (*list)[len(*list)-1]
		(*list)[p.position[i]], p.position[last] = last, p.position[i]
		*list = (*list)[:len(*list)-1]
		p.position[i] = len(*to)
		*to = append(*to, i)
	}
	p.at[i] = n
	if from != outside {
		p.load(from, i, -1)
	}
	if n != outside {
		p.load(n, i, 1)
	}
}

func (p *packer) load(n, i int, by int64) {
	for d, size := range p.of(i) {
		p.used[n*p.dims+d] += by * size
	}
	was := p.over[n]
	p.over[n] = p.overload(n, outside, outside)
	p.overs += int(count(p.over[n] > 0) - count(was > 0))
}

// overload returns by how much a node is overloaded with one more pod, and with one less.
func (p *packer) overload(n, more, less int) (sum float64) {
	for d := range p.dims {
		used := p.used[n*p.dims+d] - p.room[n*p.dims+d]
		if more != outside {
			used += p.size[more*p.dims+d]
		}
		if less != outside {
			used -= p.size[less*p.dims+d]
		}
		if used > 0 {
			sum += float64(float64(used) * p.scale[d])
		}
	}
	return sum
}

// roomiest returns the node that a pod overloads least; of those that it fits on, the one with the least room.
func (p *packer) roomiest(i int) int {
	best, least, tightest := outside, 0.0, 0.0
	for n := range p.nodes {
		if !p.fitsAlone(i, n) {
			continue
		}
		room := p.left(n)
		if over := p.overload(n, i, outside) - p.over[n]; best == outside || over < least || over == least && room < tightest {
			best, least, tightest = n, over, room
		}
	}
	return best
}

// smallest assigns the smallest pods of a tier, and reports whether it did. It does not begin what the budget does not cover.
func (p *packer) smallest(t, pods int, budget *Budget) bool {
	if pods*len(p.nodes) > budget.Limit-budget.Steps || !budget.Spend(pods*len(p.nodes)) {
		return false
	}
	p.restore(t)
	for _, i := range p.tiers[t] {
		p.put(i, outside)
	}
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

// cycle is a number of moves of repair.
const cycle = 1 << 14

// repair moves and swaps pods until no node is overloaded, and reports whether it succeeded within a number of moves. A move may
// raise the overload by less than a threshold, which falls to 0.
func (p *packer) repair(budget *Budget, moves int) bool {
	const batch = 256
	for move := range moves {
		if p.overs == 0 {
			return true
		}
		if move%batch == 0 && !budget.Spend(batch) {
			return false
		}
		i := p.inside[p.random(len(p.inside))]
		if p.random(2) == 0 { // prefer a pod of an overloaded node
			for range 4 {
				if p.over[p.at[i]] > 0 {
					break
				}
				i = p.inside[p.random(len(p.inside))]
			}
		}
		threshold := 0.08 * float64(moves-move) / float64(moves) * float64(p.random(1024)) / 1024
		from := p.at[i]
		switch kind := p.random(8); {
		case kind < 2: // to another node
			n := p.random(len(p.nodes))
			if n != from && p.fitsAlone(i, n) &&
				p.overload(n, i, outside)-p.over[n]+p.overload(from, outside, i)-p.over[from] <= threshold {
				p.put(i, n)
			}
		case kind < 7: // swap two pods
			j := p.inside[p.random(len(p.inside))]
			n := p.at[j]
			if n != from && p.fitsAlone(i, n) && p.fitsAlone(j, from) &&
				p.overload(n, i, j)-p.over[n]+p.overload(from, j, i)-p.over[from] <= threshold {
				p.put(i, n)
				p.put(j, from)
			}
		default: // with a pod outside
			out := p.out[p.pods[i].tier]
			if len(out) == 0 {
				continue
			}
			j := out[p.random(len(out))]
			if p.fitsAlone(j, from) && p.overload(from, j, i)-p.over[from] <= threshold {
				p.put(i, outside)
				p.put(j, from)
			}
		}
	}
	return false
}

// bound returns how many pods of a tier have a node at most, with a number of pods of each higher one. It takes several sets of
// nodes, small ones first, and the pods that may go to no other nodes: at most as many of these have a node as the set has room
// for, and as sets within it and the pods outside of those allow.
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

// sets returns sets of nodes that pods of a tier are limited to, those of most pods, small ones first. All nodes are last.
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
				sizes = append(sizes, weigh(p.of(i)))
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
