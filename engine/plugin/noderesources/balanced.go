package noderesources

import (
	"math"

	"github.com/stowage-scheduler/stowage/engine/plugin"
	"github.com/stowage-scheduler/stowage/engine/requests"
)

// BalancedScore returns the nodes' NodeResourcesBalancedAllocation scores: by how much the pod would even out the
// utilization of the node's resources, 75 where it changes nothing. nil if the pod asks for none of the resources.
func BalancedScore(c *plugin.Cycle, feasible []uint32) []int64 {
	asked := requests.Pending(c.Pod.Spec())
	columns := make([]column, len(c.Profile.BalancedResources))
	bestEffort := true
	for i, name := range c.Profile.BalancedResources {
		columns[i] = newColumn(c.State.Resources, name, asked, false)
		bestEffort = bestEffort && columns[i].request == 0
	}
	if bestEffort {
		return nil
	}
	scores := make([]int64, len(feasible))
	fractions := make([]float64, 0, len(columns))
	two := len(columns) == 2 && columns[0].allocatable != nil && columns[1].allocatable != nil
	for i, n := range feasible {
		var with, without int64
		if two && columns[0].allocatable[n] != 0 && columns[1].allocatable[n] != 0 {
			a, b := &columns[0], &columns[1]
			with = evennessOfTwo(a.allocated[n]+a.request, a.allocatable[n], b.allocated[n]+b.request, b.allocatable[n])
			without = evennessOfTwo(a.allocated[n], a.allocatable[n], b.allocated[n], b.allocatable[n])
		} else {
			with = evenness(columns, n, true, fractions)
			without = evenness(columns, n, false, fractions)
		}
		scores[i] = plugin.MaxScore/2 + (plugin.MaxScore/2+with-without)/2
	}
	return scores
}

// evennessOfTwo is evenness of the usual two resources, of which the node has some.
func evennessOfTwo(requestedA, allocatableA, requestedB, allocatableB int64) int64 {
	a := float64(requestedA) / float64(allocatableA)
	if a > 1 {
		a = 1
	}
	b := float64(requestedB) / float64(allocatableB)
	if b > 1 {
		b = 1
	}
	return int64(float64(1-math.Abs((a-b)/2)) * plugin.MaxScore)
}

// evenness returns 100 less the standard deviation, in percent, of the resources' utilization. The order of the
// operations on floats is kube-scheduler's, so that results are equal to the last bit; the conversions keep compilers
// from fusing a multiplication and an addition.
func evenness(columns []column, n uint32, withPod bool, fractions []float64) int64 {
	fractions = fractions[:0]
	var total float64
	for i := range columns {
		allocatable, requested := columns[i].on(n)
		if allocatable == 0 {
			continue
		}
		if withPod {
			requested += columns[i].request
		}
		f := min(float64(requested)/float64(allocatable), 1)
		total += f
		fractions = append(fractions, f)
	}
	var deviation float64
	switch {
	case len(fractions) == 2:
		deviation = math.Abs((fractions[0] - fractions[1]) / 2)
	case len(fractions) > 2:
		mean := total / float64(len(fractions))
		var sum float64
		for _, f := range fractions {
			sum += float64((f - mean) * (f - mean))
		}
		deviation = math.Sqrt(sum / float64(len(fractions)))
	}
	return int64(float64(1-deviation) * plugin.MaxScore)
}
