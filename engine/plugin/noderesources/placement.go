package noderesources

import (
	"slices"

	"github.com/stowage-scheduler/stowage/engine/api"
	"github.com/stowage-scheduler/stowage/engine/cluster"
	"github.com/stowage-scheduler/stowage/engine/plugin"
	"github.com/stowage-scheduler/stowage/engine/requests"
)

// PlacementScore returns how full nodes are as a whole with pods to come, which ask for so much in all, each as
// requests.PendingDefaulted counts it (pkg/scheduler/framework/plugins/noderesources/resource_allocation.go scorePlacement
// with MostAllocated, v1.37).
func PlacementScore(r *cluster.Resources, s *api.ScoringStrategy, asked api.Resources, nodes []uint32) int64 {
	var sum, weights int64
	for _, resource := range s.Resources {
		c := newColumn(r, resource.Resource, asked, true)
		var allocatable, requested total
		requested.add(c.request)
		for _, n := range nodes {
			has, taken := c.on(n)
			if has != 0 {
				allocatable.add(has)
				requested.add(taken)
			}
		}
		if allocatable.rough == 0 {
			continue
		}
		sum += requested.percentOf(allocatable) * resource.Weight
		weights += resource.Weight
	}
	if weights == 0 {
		return 0
	}
	return sum / weights
}

// total is a sum over nodes, which may be more than an int64 holds.
type total struct {
	exact int64 // unless rough is more than maxExactTotal
	rough float64
}

// maxExactTotal is up to what 100 times a total fits an int64.
const maxExactTotal = 1 << 56

func (t *total) add(amount int64) {
	t.exact += amount
	t.rough += float64(amount)
}

// percentOf returns which percentage t is of a total, 100 if it is more.
func (t total) percentOf(of total) int64 {
	if max(t.rough, of.rough) > maxExactTotal {
		return int64(min(t.rough/of.rough, 1) * plugin.MaxScore)
	}
	return min(t.exact, of.exact) * plugin.MaxScore / of.exact
}

// Total adds up what pods ask for where NodeResourcesFit scores, so many of each.
func Total(pods []*api.PodSpec, counts []int) api.Resources {
	var sum api.Resources
	for i, spec := range pods {
		for _, q := range requests.PendingDefaulted(spec) {
			at := slices.IndexFunc(sum, func(t api.Quantity) bool { return t.Resource == q.Resource })
			if at < 0 {
				at = len(sum)
				sum = append(sum, api.Quantity{Resource: q.Resource})
			}
			sum[at].Amount += q.Amount * int64(counts[i])
		}
	}
	return sum
}
