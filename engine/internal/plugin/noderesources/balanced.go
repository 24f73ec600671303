package noderesources

import (
	"encoding/binary"
	"math"
	"slices"

	"github.com/stowage-scheduler/stowage/engine/internal/cluster"
	"github.com/stowage-scheduler/stowage/engine/internal/plugin"
	"github.com/stowage-scheduler/stowage/engine/internal/requests"
)

// BalancedScore returns the nodes' NodeResourcesBalancedAllocation scores: by how much the pod would balance the
// utilization of the node's resources, 75 for no change. nil if the pod requests none of the resources.
func BalancedScore(c *plugin.Cycle, feasible []uint32) []int64 {
	columns := balancedColumns(c, c.State.Resources)
	if columns == nil {
		return nil
	}
	key := []byte("balanced:") // and the resources that count for this pod
	for i, name := range c.Profile.BalancedResources {
		if !columns[i].skip {
			key = append(binary.AppendUvarint(key, uint64(len(name))), name...)
		}
	}
	var without []uint8 // nil where it costs less to compute them, or if they do not follow from the node's resources
	if len(feasible)*few > c.State.Len() && !slices.ContainsFunc(columns, func(c column) bool { return c.serving != nil }) {
		without = c.State.PerNode(string(key), func(r *cluster.Resources, nodes []uint32, to []uint8) {
			current(balancedColumns(c, r), nodes, to)
		})
	}
	scores := c.Scores(len(feasible))
	if ofTwo(columns) {
		a, b := &columns[0], &columns[1]
		for i := 0; i < len(feasible); {
			of, last := twoOf(a, b, feasible[i]), feasible[i]|(cluster.PageNodes-1)
			for ; i < len(feasible) && feasible[i] <= last; i++ {
				allocatableA, allocatedA, allocatableB, allocatedB := of.on(feasible[i] % cluster.PageNodes)
				before := int64(unusual)
				if without != nil {
					before = int64(without[feasible[i]])
				}
				if before == unusual {
					before = evennessOfTwo(allocatedA, allocatableA, allocatedB, allocatableB)
				}
				with := evennessOfTwo(allocatedA+a.request, allocatableA, allocatedB+b.request, allocatableB)
				scores[i] = balance(with, before)
			}
		}
		return scores
	}
	fractions := make([]float64, 0, len(columns))
	for i, n := range feasible {
		before := int64(unusual)
		if without != nil {
			before = int64(without[n])
		}
		if before == unusual {
			before = evenness(columns, n, false, fractions)
		}
		scores[i] = balance(evenness(columns, n, true, fractions), before)
	}
	return scores
}

// few is the ratio of all nodes to the feasible ones from which on the evenness of the others is not computed.
const few = 16

// balancedColumns returns the resources that NodeResourcesBalancedAllocation reads; nil if the pod requests none of
// them.
func balancedColumns(c *plugin.Cycle, r *cluster.Resources) []column {
	request := requests.Pending(c.Pod.Spec())
	columns := make([]column, len(c.Profile.BalancedResources))
	bestEffort := true
	for i, name := range c.Profile.BalancedResources {
		columns[i] = newColumn(r, name, request, false)
		columns[i].serve(c, name)
		bestEffort = bestEffort && columns[i].request == 0
	}
	if bestEffort {
		return nil
	}
	return columns
}

// unusual replaces an evenness outside of 0..100, which results from a negative sum of requests.
const unusual = math.MaxUint8

func usually(evenness int64) uint8 {
	if uint64(evenness) > plugin.MaxScore {
		return unusual
	}
	return uint8(evenness)
}

// current sets the evenness of nodes without the pod, of all nodes if they are nil.
func current(columns []column, nodes []uint32, to []uint8) {
	both, fractions := ofTwo(columns), make([]float64, 0, len(columns))
	on := func(n uint32) uint8 {
		if both {
			of := twoOf(&columns[0], &columns[1], n)
			allocatableA, allocatedA, allocatableB, allocatedB := of.on(n % cluster.PageNodes)
			return usually(evennessOfTwo(allocatedA, allocatableA, allocatedB, allocatableB))
		}
		return usually(evenness(columns, n, false, fractions))
	}
	if nodes == nil {
		for n := range to {
			to[n] = on(uint32(n))
		}
	}
	for _, n := range nodes {
		to[n] = on(n)
	}
}

// balance returns the score of a node from its evenness with and without the pod.
func balance(with, without int64) int64 {
	return plugin.MaxScore/2 + (plugin.MaxScore/2+with-without)/2
}

// ofTwo reports whether both of two resources are lanes.
func ofTwo(columns []column) bool {
	return len(columns) == 2 && columns[0].words != nil && columns[1].words != nil
}

// evennessOfTwo is evenness for two lanes.
func evennessOfTwo(requestedA, allocatableA, requestedB, allocatableB int64) int64 {
	if allocatableA == 0 || allocatableB == 0 {
		return plugin.MaxScore
	}
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

// evenness returns 100 minus the standard deviation of the resources' utilization, in percent. The order of float
// operations is kube-scheduler's, so that results are equal to the last bit. The conversions keep compilers from fusing
// a multiplication and an addition.
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
