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
	rules    []index // by replicas: the rule that the request must fit; none without one
	room     func(node uint32) int64
	sums     []int64 // what several pods can request together, ascending; nil if there are too many sums
	total    int64
}

// none is the index of no rule.
const none index = -1

func (i index) exists() bool { return i != none }

// resource returns a resource of the group, which has a number of replicas.
func (g *Group) resource(n rule.Need, replicas int) *resource {
	i := slices.IndexFunc(g.resources, func(x resource) bool { return x.name == n.Resource })
	if i < 0 {
		i = len(g.resources)
		g.resources = append(g.resources, resource{
			name: n.Resource, requests: make([]int64, replicas), rules: slices.Repeat([]index{none}, replicas), room: n.Room,
		})
	}
	return &g.resources[i]
}

func (x *resource) need(replicas int, amount int64, rule index) {
	x.requests[replicas], x.rules[replicas] = amount, rule
}

// without returns the resource without some rules. The pods still use what they request.
func (x resource) without(rules []bool) resource {
	x.rules = slices.Clone(x.rules)
	for r, i := range x.rules {
		if i.exists() && i.in(rules) {
			x.rules[r] = none
		}
	}
	return x
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

func (x *resource) findSums(of []replicas) {
	x.sums = []int64{0}
	for i, request := range x.requests {
		x.total = saturating.Add(x.total, saturating.Mul(request, int64(of[i].count)))
		for range of[i].count {
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

// usable returns how much of a node's room the group's pods can use up. Nodes with equal results are equivalent.
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
