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

// PlacementScore returns how full nodes are as a whole with pods to come, which ask for so much in all, each as
// requests.PendingDefaulted counts it (pkg/scheduler/framework/plugins/noderesources/resource_allocation.go scorePlacement
// with MostAllocated, v1.37).
func PlacementScore(r *cluster.Resources, s *api.ScoringStrategy, asked api.Resources, nodes []uint32) int64 {
	return average(shares(r, s, asked, nodes))
}

// PlacementBound returns the highest PlacementScore that any of those pods have. It may be more than that of all: a resource
// that only the others ask for does not count.
func PlacementBound(r *cluster.Resources, s *api.ScoringStrategy, asked api.Resources, nodes []uint32) int64 {
	var counted, optional []share
	for _, c := range shares(r, s, asked, nodes) {
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

// share is how full nodes are of a resource.
type share struct {
	resource        string
	percent, weight int64
}

// shares returns how full nodes are of each resource that they have and that counts.
func shares(r *cluster.Resources, s *api.ScoringStrategy, asked api.Resources, nodes []uint32) []share {
	var all []share
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
			sum[at].Amount = saturating.Add(sum[at].Amount, saturating.Mul(q.Amount, int64(counts[i])))
		}
	}
	return sum
}
