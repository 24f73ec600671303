package noderesources

import (
	"math"
	"slices"

	"github.com/stowage-scheduler/stowage/engine/api"
	"github.com/stowage-scheduler/stowage/engine/internal/cluster"
	"github.com/stowage-scheduler/stowage/engine/internal/plugin"
	"github.com/stowage-scheduler/stowage/engine/internal/requests"
)

// Score returns the nodes' NodeResourcesFit scores by the profile's strategy.
func Score(c *plugin.Cycle, feasible []uint32) []int64 {
	columns := fitColumns(c)
	scores := c.Scores(len(feasible))
	if usual(c, columns) {
		leastAllocatedOfTwo(&columns[0], &columns[1], feasible, scores)
		return scores
	}
	of := strategy(&c.Profile.Scoring)
	for i, n := range feasible {
		scores[i] = of(columns, n)
	}
	return scores
}

// usual reports whether leastAllocatedOfTwo applies.
func usual(c *plugin.Cycle, columns []column) bool {
	return c.Profile.Scoring.Type == api.LeastAllocated && len(columns) == 2 && columns[0].usual() && columns[1].usual()
}

// fitColumns returns the resources that NodeResourcesFit scores.
func fitColumns(c *plugin.Cycle) []column {
	columns := make([]column, len(c.Profile.Scoring.Resources))
	request := requests.PendingDefaulted(c.Pod.Spec())
	for i, r := range c.Profile.Scoring.Resources {
		columns[i] = newColumn(c.State.Resources, r.Resource, request, true)
		columns[i].weight = r.Weight
		columns[i].serve(c, r.Resource)
	}
	return columns
}

// strategy returns the score function of a strategy.
func strategy(s *api.ScoringStrategy) func([]column, uint32) int64 {
	switch s.Type {
	case api.MostAllocated:
		return mostAllocated
	case api.RequestedToCapacityRatio:
		return requestedToCapacityRatio(s.Shape)
	}
	return leastAllocated
}

// column is one resource of the nodes, as scores read it.
type column struct {
	weight  int64
	request int64
	// words are the amounts of nodes; nil for a resource that is no lane.
	words                  []*cluster.Word
	allocatable, allocated cluster.Column
	scalar                 *cluster.Scalar
	// serving are devices that serve the resource on nodes that do not have it; nil for none.
	serving *cluster.Serving
	skip    bool
}

// newColumn returns the column of a resource. With defaulted, the cpu and memory requests of existing pods include the
// defaults for missing requests.
func newColumn(r *cluster.Resources, name string, request api.Resources, defaulted bool) column {
	var c column
	c.request, _ = request.Get(name)
	lane := slices.Index(cluster.LaneNames[:], name)
	if lane < 0 {
		c.scalar = r.Scalars[name]
		c.skip = c.scalar == nil || c.request == 0 && requests.Scalar(name)
		return c
	}
	c.words, c.allocatable, c.allocated = r.Words(), cluster.Allocatable(lane), cluster.Requested(lane)
	if defaulted && lane < cluster.DefaultedLanes {
		c.allocated = cluster.Defaulted(lane)
	}
	return c
}

// serve adds the devices that serve a requested extended resource (noderesources/resource_allocation.go
// calculateResourceAllocatableRequest, v1.37).
func (c *column) serve(by *plugin.Cycle, resource string) {
	if c.words == nil && c.request != 0 {
		c.serving = by.State.ServedBy(resource)
		c.skip = c.skip && c.serving == nil
	}
}

// usual reports whether the resource is a lane and its weight is 1.
func (c *column) usual() bool { return c.words != nil && c.weight == 1 }

// on returns a node's allocatable and allocated amounts. Scores leave out a node without allocatable amount.
func (c *column) on(n uint32) (allocatable, allocated int64) {
	if c.skip {
		return 0, 0
	}
	if c.words != nil {
		w := c.words[n/cluster.PageNodes]
		return w.At(n, c.allocatable), w.At(n, c.allocated)
	}
	if i, ok := c.scalar.Find(n); ok && c.scalar.Values[i].Allocatable != 0 {
		return c.scalar.Values[i].Allocatable, c.scalar.Values[i].Requested
	}
	if c.serving != nil {
		return c.serving.On(n)
	}
	return 0, 0
}

func leastAllocated(columns []column, n uint32) int64 { return mean(columns, n, free) }

func mostAllocated(columns []column, n uint32) int64 {
	return mean(columns, n, func(allocatable, requested int64) int64 {
		return min(requested, allocatable) * plugin.MaxScore / allocatable
	})
}

// mean returns the weighted mean of the scores of the resources that a node has, rounded down.
func mean(columns []column, n uint32, score func(allocatable, requested int64) int64) int64 {
	var sum, weights int64
	for i := range columns {
		c := &columns[i]
		if allocatable, allocated := c.on(n); allocatable != 0 {
			sum += score(allocatable, allocated+c.request) * c.weight
			weights += c.weight
		}
	}
	if weights == 0 {
		return 0
	}
	return sum / weights
}

// leastAllocatedOfTwo is leastAllocated for two lanes with weights of 1.
func leastAllocatedOfTwo(a, b *column, feasible []uint32, scores []int64) {
	for i := 0; i < len(feasible); {
		of, last := twoOf(a, b, feasible[i]), feasible[i]|(cluster.PageNodes-1)
		for ; i < len(feasible) && feasible[i] <= last; i++ {
			at := feasible[i] % cluster.PageNodes
			allocatableA, allocatedA, allocatableB, allocatedB := of.on(at)
			sum := free(allocatableA, allocatedA+a.request) + free(allocatableB, allocatedB+b.request)
			if allocatableA != 0 && allocatableB != 0 {
				sum /= 2
			}
			scores[i] = sum
		}
	}
}

// two is the amounts of two lanes in a word.
type two struct {
	allocatableA, allocatedA, allocatableB, allocatedB *[cluster.PageNodes]int64
}

// on returns the amounts of the node at a position in the word.
func (t two) on(at uint32) (allocatableA, allocatedA, allocatableB, allocatedB int64) {
	return t.allocatableA[at], t.allocatedA[at], t.allocatableB[at], t.allocatedB[at]
}

// twoOf returns the amounts of two lanes in the word of a node.
func twoOf(a, b *column, n uint32) two {
	w := a.words[n/cluster.PageNodes]
	return two{w.Column(a.allocatable), w.Column(a.allocated), w.Column(b.allocatable), w.Column(b.allocated)}
}

// free returns the unrequested percentage of an allocatable amount, rounded down; 0 if more is requested. Up to
// maxExact the division uses floats, which is faster: both operands are exact, and the quotient is at least
// 1/allocatable away from the next integer, so it is not rounded up. Above maxExact it is kube-scheduler's expression
// on 64-bit integers, overflow included.
func free(allocatable, requested int64) int64 {
	if requested > allocatable || allocatable == 0 {
		return 0
	}
	left := allocatable - requested
	if allocatable <= maxExact && requested >= 0 {
		return int64(float64(left*plugin.MaxScore) / float64(allocatable))
	}
	return left * plugin.MaxScore / allocatable
}

const maxExact = 1 << 45

// requestedToCapacityRatio scores by a function of utilization. The mean leaves out resources that score 0.
func requestedToCapacityRatio(shape []api.ShapePoint) func([]column, uint32) int64 {
	return func(columns []column, n uint32) int64 {
		var sum, weights int64
		for i := range columns {
			c := &columns[i]
			allocatable, allocated := c.on(n)
			if allocatable == 0 {
				continue
			}
			utilization := int64(100)
			if requested := allocated + c.request; requested <= allocatable {
				utilization = requested * 100 / allocatable
			}
			if s := interpolate(shape, utilization); s > 0 {
				sum += s * c.weight
				weights += c.weight
			}
		}
		if weights == 0 {
			return 0
		}
		return int64(math.Round(float64(sum) / float64(weights)))
	}
}

// interpolate evaluates a piecewise linear function in integers, with scores of 0..10 scaled to 0..MaxScore
// (pkg/scheduler/framework/plugins/helper/shape_score.go, v1.37).
func interpolate(shape []api.ShapePoint, utilization int64) int64 {
	const scale = plugin.MaxScore / 10
	for i, p := range shape {
		if utilization > p.Utilization {
			continue
		}
		if i == 0 {
			return p.Score * scale
		}
		before := shape[i-1]
		return before.Score*scale + (p.Score-before.Score)*scale*(utilization-before.Utilization)/(p.Utilization-before.Utilization)
	}
	return shape[len(shape)-1].Score * scale
}
