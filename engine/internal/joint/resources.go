package joint

import (
	"slices"

	"github.com/stowage-scheduler/stowage/engine/internal/saturating"
)

// resource is a resource that pods need.
type resource struct {
	amounts []int64 // by replicas
	checked []bool  // by replicas
	room    func(uint32) int64
	sums    []int64 // what several pods may need together, ascending; nil if that is too much
	total   int64
}

func (m *model) findResources() {
	index := make(map[string]int)
	for i := range m.g.replicas {
		r := &m.g.replicas[i]
		for j := range r.needs {
			n := &r.needs[j]
			at, ok := index[n.Resource]
			if !ok {
				at = len(m.resources)
				index[n.Resource] = at
				m.resources = append(m.resources, resource{
					amounts: make([]int64, len(m.g.replicas)), checked: make([]bool, len(m.g.replicas)), room: n.Room,
				})
			}
			m.resources[at].amounts[i] = n.Amount
			m.resources[at].checked[i] = m.on(n.rule)
		}
	}
	m.resources = slices.DeleteFunc(m.resources, func(r resource) bool { return !slices.Contains(r.checked, true) })
	for i := range m.resources {
		m.resources[i].findSums(m.g.replicas)
	}
}

// maxSums bounds resource.sums.
const maxSums = 1024

func (x *resource) findSums(of []replicas) {
	x.sums = []int64{0}
	for i, amount := range x.amounts {
		x.total = saturating.Add(x.total, saturating.Mul(amount, int64(of[i].count)))
		for range of[i].count {
			if amount == 0 || x.sums == nil {
				break
			}
			for _, s := range x.sums {
				x.sums = append(x.sums, saturating.Add(s, amount))
			}
			slices.Sort(x.sums)
			if x.sums = slices.Compact(x.sums); len(x.sums) > maxSums {
				x.sums = nil
			}
		}
	}
}

// usable returns which part of a node's room pods can use up. Nodes with the same are equal to the group.
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
