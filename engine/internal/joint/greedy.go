package joint

import (
	"cmp"
	"slices"
)

// way is a way of placing pods one by one, each on the fullest node that it fits on.
type way struct {
	large    bool // large pods first, instead of small ones
	confined bool // before that, pods with the least room on their allowed nodes come first
	spare    bool // on the nodes first that other pods need least
}

// ways returns the ways to try. Where all pods may go to all nodes they differ in the order by size alone.
func (p *packer) ways() []way {
	ways := []way{{large: true}, {}}
	if !slices.ContainsFunc(p.pods, func(of packed) bool { return !p.may[of.replicas].Full(len(p.nodes)) }) {
		return ways
	}
	return append(ways, way{spare: true}, way{large: true, spare: true}, way{confined: true, spare: true}, way{true, true, true})
}

// begin makes the best assignment one of floor and of all pods placed in several ways.
func (p *packer) begin(floor []Assignment) {
	p.weighNodes()
	index := make(map[uint32]int, len(p.nodes))
	for n, node := range p.nodes {
		index[node] = n
	}
	of := make([][]int, len(p.may)) // pods by replicas
	for i, pod := range p.pods {
		of[pod.replicas] = append(of[pod.replicas], i)
	}
	for _, a := range floor {
		p.best[of[a.Replicas][0]] = index[a.Node]
		of[a.Replicas] = of[a.Replicas][1:]
	}
	most := p.counts(p.best)
	last := len(p.tiers) - 1
	for _, w := range p.ways() {
		if !p.budget.Spend(len(p.pods)) {
			return
		}
		p.restore(last)
		for i := range p.pods {
			p.put(i, outside)
		}
		for t := range p.tiers {
			p.greedy(t, w)
		}
		if counts := p.counts(p.at); slices.Compare(counts, most) > 0 {
			p.keep(last)
			most = counts
		}
	}
}

// counts returns the number of pods with a node by tier.
func (p *packer) counts(at []int) []int {
	counts := make([]int, len(p.tiers))
	for i, n := range at {
		if n != outside {
			counts[p.pods[i].tier]++
		}
	}
	return counts
}

// weighNodes computes, by replicas, the room of the nodes that a pod fits on alone, and by node how much of it pods need: each
// pod needs an equal share of all of these nodes.
func (p *packer) weighNodes() {
	p.supply, p.demand = make([]float64, len(p.may)), make([]float64, len(p.nodes))
	need := make([]float64, len(p.may))
	for i, pod := range p.pods {
		need[pod.replicas] += p.weight(i)
	}
	for r, may := range p.may {
		for n := range may.All() {
			p.supply[r] += p.weigh(p.roomOn(int(n)))
		}
		for n := range may.All() {
			p.demand[n] += need[r] / max(p.supply[r], 1e-9)
		}
	}
}

// greedy places the pods of a tier in a way, until the context ends. They have no nodes, and no node is overloaded.
func (p *packer) greedy(t int, w way) {
	order := slices.Clone(p.tiers[t])
	slices.SortStableFunc(order, func(a, b int) int {
		of, other := p.pods[a].replicas, p.pods[b].replicas
		c := cmp.Or(cmp.Compare(p.sizes[a], p.sizes[b]), cmp.Compare(of, other))
		if w.large {
			c = -c
		}
		if w.confined {
			c = cmp.Or(cmp.Compare(p.supply[of], p.supply[other]), c)
		}
		return c
	})
	of, n := -1, outside
	for _, i := range order {
		if p.budget.Context.Err() != nil {
			return
		}
		switch r := p.pods[i].replicas; {
		case r != of:
			of, n = r, p.fullest(i, w)
		case n != outside && p.overload(n, i, outside) > 0: // otherwise it is the fullest one still
			n = p.fullest(i, w)
		}
		if n != outside {
			p.put(i, n)
		}
	}
}

// fullest returns the node with the least room where a pod fits. If the way says so, it prefers the nodes with the least demand from
// other pods.
func (p *packer) fullest(i int, w way) int {
	best, need, tightest := outside, 0.0, 0.0
	for node := range p.may[p.pods[i].replicas].All() {
		n := int(node)
		if w.spare && best != outside && p.demand[n] > need || p.overload(n, i, outside) > 0 {
			continue
		}
		room := p.left(n)
		if best == outside || w.spare && p.demand[n] < need || room < tightest {
			best, need, tightest = n, p.demand[n], room
		}
	}
	return best
}
