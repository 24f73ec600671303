package joint

import "slices"

// arrangement is the current assignment, of pods of some tiers, which may overload nodes. Repair moves its pods until none is
// overloaded.
type arrangement struct {
	at       []int     // by pod: its node
	inside   []int     // pods with a node
	out      [][]int   // by tier: pods without one
	position []int     // by pod: where it is in inside or out
	used     []int64   // by node, by dimension
	over     []float64 // by node: its overload
	overs    int       // nodes with one
}

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

// restoreWithout is restore without the pods of the last tier, which are outside.
func (p *packer) restoreWithout(t int) {
	p.restore(t)
	for _, i := range p.tiers[t] {
		p.put(i, outside)
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
			for d, size := range p.requests(i) {
				if on[d]+size > room[d] {
					p.best[i] = outside
				}
			}
			if p.best[i] != outside {
				for d, size := range p.requests(i) {
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

// load adds the requests of a pod to the use of a node, or with -1 takes them off.
func (p *packer) load(n, i int, by int64) {
	for d, size := range p.requests(i) {
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

// roomiest returns the node that a pod overloads least. Among the nodes where the pod fits, it is the one with the least room.
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
