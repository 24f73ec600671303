package joint

import (
	"slices"

	"github.com/stowage-scheduler/stowage/engine/internal/rule"
	"github.com/stowage-scheduler/stowage/engine/internal/saturating"
)

// resource is a resource that pods of the group request.
type resource struct {
	name     string
	requests []int64 // by replicas
	required []bool  // by replicas: whether the request must fit; other pods use the resource, too
	room     func(node uint32) int64
	sums     []int64 // sums of the requests of any pods, ascending; nil if there are more than maxSums
	total    int64
}

// resource returns a resource of the group.
func (g *Group) resource(n rule.Need) *resource {
	i := slices.IndexFunc(g.resources, func(x resource) bool { return x.name == n.Resource })
	if i < 0 {
		i = len(g.resources)
		g.resources = append(g.resources, resource{
			name: n.Resource, requests: make([]int64, len(g.members)), required: make([]bool, len(g.members)), room: n.Room,
		})
	}
	return &g.resources[i]
}

// sum returns what the pods of a bin request.
func (x *resource) sum(bin []int) int64 {
	var sum int64
	for _, r := range bin {
		sum = saturating.Add(sum, x.requests[r])
	}
	return sum
}

// maxSums bounds resource.sums.
const maxSums = 1024

func (x *resource) findSums(members []Replicas) {
	x.sums = []int64{0}
	for i, request := range x.requests {
		x.total = saturating.Add(x.total, saturating.Mul(request, int64(members[i].Count)))
		for range members[i].Count {
			if request == 0 || x.sums == nil {
				break
			}
			for _, s := range x.sums {
				x.sums = append(x.sums, saturating.Add(s, request))
			}
			slices.Sort(x.sums)
			if x.sums = slices.Compact(x.sums); len(x.sums) > maxSums {
				x.sums = nil
			}
		}
	}
}

// usable returns the highest sum of requests that fits into a node's room. Nodes with equal results are equivalent.
func (x *resource) usable(room int64) int64 {
	if room < 0 {
		return -1
	}
	if x.sums == nil {
		return min(room, x.total)
	}
	i, found := slices.BinarySearch(x.sums, room)
	if !found {
		i--
	}
	return x.sums[i]
}
