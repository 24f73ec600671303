package noderesources

import (
	"cmp"
	"slices"

	"github.com/stowage-scheduler/stowage/engine/api"
	"github.com/stowage-scheduler/stowage/engine/internal/cluster"
	"github.com/stowage-scheduler/stowage/engine/internal/plugin"
	"github.com/stowage-scheduler/stowage/engine/internal/requests"
	"github.com/stowage-scheduler/stowage/engine/internal/saturating"
)

// PlacementScore returns the utilization of nodes as a whole with pending pods. requested is their sum, as
// requests.PendingDefaulted counts (pkg/scheduler/framework/plugins/noderesources/resource_allocation.go scorePlacement
// with MostAllocated, v1.37).
func PlacementScore(r *cluster.Resources, s *api.ScoringStrategy, request api.Resources, nodes []uint32) int64 {
	return average(shares(r, s, request, nodes))
}

// PlacementBound returns an upper bound of PlacementScore over all subsets of the pods. A subset may lack a resource,
// which then does not count.
func PlacementBound(r *cluster.Resources, s *api.ScoringStrategy, request api.Resources, nodes []uint32) int64 {
	var counted, optional []share
	for _, c := range shares(r, s, request, nodes) {
		if requests.Scalar(c.resource) {
			optional = append(optional, c)
		} else {
			counted = append(counted, c)
		}
	}
	slices.SortFunc(optional, func(a, b share) int { return cmp.Compare(b.percent, a.percent) })
	best := average(counted)
	for _, c := range optional {
		counted = append(counted, c)
		best = max(best, average(counted))
	}
	return best
}

// share is the utilization of a resource.
type share struct {
	resource        string
	percent, weight int64
}

// shares returns the utilization of each resource that counts and that nodes have.
func shares(r *cluster.Resources, s *api.ScoringStrategy, request api.Resources, nodes []uint32) []share {
	var all []share
	for _, resource := range s.Resources {
		c := newColumn(r, resource.Resource, request, true)
		var allocatable, requested total
		requested.add(c.request)
		for _, n := range nodes {
			has, taken := c.on(n)
			if has != 0 {
				allocatable.add(has)
				requested.add(taken)
			}
		}
		if allocatable.rough > 0 {
			all = append(all, share{resource.Resource, requested.percentOf(allocatable), resource.Weight})
		}
	}
	return all
}

func average(shares []share) int64 {
	var sum, weights int64
	for _, s := range shares {
		sum += s.percent * s.weight
		weights += s.weight
	}
	if weights == 0 {
		return 0
	}
	return sum / weights
}

// total is a sum over nodes. It may exceed an int64.
type total struct {
	exact int64 // valid up to a rough value of maxExactTotal
	rough float64
}

// maxExactTotal is a total whose hundredfold fits an int64.
const maxExactTotal = 1 << 56

func (t *total) add(amount int64) {
	t.exact += amount
	t.rough += float64(amount)
}

// percentOf returns t as a percentage of a total, at most 100.
func (t total) percentOf(of total) int64 {
	if max(t.rough, of.rough) > maxExactTotal {
		return int64(min(t.rough/of.rough, 1) * plugin.MaxScore)
	}
	return min(t.exact, of.exact) * plugin.MaxScore / of.exact
}

// Total adds up the requests of a number of pods per spec, as NodeResourcesFit counts them for scores.
func Total(pods []*api.PodSpec, counts []int) api.Resources {
	var sum api.Resources
	for i, spec := range pods {
		for _, q := range requests.PendingDefaulted(spec) {
			at := slices.IndexFunc(sum, func(t api.Quantity) bool { return t.Resource == q.Resource })
			if at < 0 {
				at = len(sum)
				sum = append(sum, api.Quantity{Resource: q.Resource})
			}
			sum[at].Amount = saturating.Add(sum[at].Amount, saturating.Mul(q.Amount, int64(counts[i])))
		}
	}
	return sum
}
