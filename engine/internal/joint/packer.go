package joint

import (
	"cmp"
	"slices"

	"github.com/stowage-scheduler/stowage/engine/internal/nodeset"
)

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
	arrangement
	draws uint64 // of random numbers
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

// requests returns what a pod requests by dimension.
func (p *packer) requests(i int) []int64 { return p.size[i*p.dims : (i+1)*p.dims] }

// roomOn returns the room of a node without pods of the group by dimension.
func (p *packer) roomOn(n int) []int64 { return p.room[n*p.dims : (n+1)*p.dims] }

// weight is the size of a pod in all dimensions.
func (p *packer) weight(i int) float64 { return p.weigh(p.requests(i)) }

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
