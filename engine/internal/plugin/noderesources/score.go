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

// usual reports whether leastAllocatedOfTwo can be asked.
func usual(c *plugin.Cycle, columns []column) bool {
	return c.Profile.Scoring.Type == api.LeastAllocated && len(columns) == 2 && columns[0].usual() && columns[1].usual()
}

// fitColumns returns the resources that NodeResourcesFit scores by.
func fitColumns(c *plugin.Cycle) []column {
	columns := make([]column, len(c.Profile.Scoring.Resources))
	asked := requests.PendingDefaulted(c.Pod.Spec())
	for i, r := range c.Profile.Scoring.Resources {
		columns[i] = newColumn(c.State.Resources, r.Resource, asked, true)
		columns[i].weight = r.Weight
	}
	return columns
}

// strategy returns how one node is scored.
func strategy(s *api.ScoringStrategy) func([]column, uint32) int64 {
	switch s.Type {
	case api.MostAllocated:
		return mostAllocated
	case api.RequestedToCapacityRatio:
		return requestedToCapacityRatio(s.Shape)
	}
	return leastAllocated
}

// column is one resource of the nodes as a score looks at it.
type column struct {
	weight                 int64
	request                int64
	allocatable, allocated []int64 // by node, of a lane
	scalar                 *cluster.Scalar
	skip                   bool
}

// newColumn returns a resource's column. Where the score counts defaults for requests that are left out, cpu and memory
// of the nodes' pods are counted with them.
func newColumn(r *cluster.Resources, name string, asked api.Resources, defaulted bool) column {
	var c column
	c.request, _ = asked.Get(name)
	lane := slices.Index(cluster.LaneNames[:], name)
	if lane < 0 {
		c.scalar = r.Scalars[name]
		c.skip = c.scalar == nil || c.request == 0 && requests.Scalar(name)
		return c
	}
	c.allocatable, c.allocated = r.Allocatable[lane], r.Requested[lane]
	if defaulted && lane < len(r.Defaulted) {
		c.allocated = r.Defaulted[lane]
	}
	return c
}

// usual reports whether every node has a value of the resource, and its weight is 1.
func (c *column) usual() bool { return c.allocatable != nil && c.weight == 1 }

// on returns what a node has of the resource and what is taken; a node that has none is left out of scores.
func (c *column) on(n uint32) (allocatable, allocated int64) {
	if c.skip {
		return 0, 0
	}
	if c.allocatable != nil {
		return c.allocatable[n], c.allocated[n]
	}
	if i, ok := c.scalar.Find(n); ok {
		return c.scalar.Allocatable[i], c.scalar.Requested[i]
	}
	return 0, 0
}

func leastAllocated(columns []column, n uint32) int64 {
	var sum, weights int64
	for i := range columns {
		c := &columns[i]
		allocatable, allocated := c.on(n)
		if allocatable == 0 {
			continue
		}
		sum += free(allocatable, allocated+c.request) * c.weight
		weights += c.weight
	}
	if weights == 0 {
		return 0
	}
	return sum / weights
}

// leastAllocatedOfTwo is leastAllocated of two resources with weights of 1, of which every node has some or none.
func leastAllocatedOfTwo(a, b *column, feasible []uint32, scores []int64) {
	for i, n := range feasible {
		allocatableA, allocatableB := a.allocatable[n], b.allocatable[n]
		sum := free(allocatableA, a.allocated[n]+a.request) + free(allocatableB, b.allocated[n]+b.request)
		if allocatableA != 0 && allocatableB != 0 {
			sum /= 2
		}
		scores[i] = sum
	}
}

// free returns which percentage of what is allocatable is not requested, rounded down; 0 if more is requested than
// there is. Up to maxExact a float holds what is divided exactly, and the quotient, which is at least 1/allocatable away
// from the next integer, cannot be rounded up to it; to divide floats is faster. Beyond that it is kube-scheduler's
// expression on integers of 64 bits, overflow included.
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

func mostAllocated(columns []column, n uint32) int64 {
	var sum, weights int64
	for i := range columns {
		c := &columns[i]
		allocatable, allocated := c.on(n)
		if allocatable == 0 {
			continue
		}
		sum += min(allocated+c.request, allocatable) * plugin.MaxScore / allocatable * c.weight
		weights += c.weight
	}
	if weights == 0 {
		return 0
	}
	return sum / weights
}

// requestedToCapacityRatio scores by a function of utilization. Resources that score 0 are left out of the mean.
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

// interpolate evaluates a function given by points, with scores of 0..10 taken to 0..MaxScore, in integers
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
