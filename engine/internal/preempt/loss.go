package preempt

import (
	"cmp"
	"math"
	"slices"

	"github.com/stowage-scheduler/stowage/engine/internal/cluster"
)

// loss is what a candidate costs.
type loss struct {
	node       uint32
	violations int
	highest    int32 // priority of the most important victim
	sum        int64 // of priorities, each increased so that it is not negative
	pods       int
	earliest   int64 // start of the first of the victims with the highest priority
	victims    []VictimOn
	sorted     bool // victims are, the most important unit first
}

// compare orders losses, the smallest first (pkg/scheduler/framework/preemption/preemption.go pickOneNodeForPreemption,
// v1.37).
func (l *loss) compare(o *loss) int {
	return cmp.Or(cmp.Compare(l.violations, o.violations), cmp.Compare(l.highest, o.highest), cmp.Compare(l.sum, o.sum),
		cmp.Compare(l.pods, o.pods), cmp.Compare(o.earliest, l.earliest))
}

// exceeds reports whether a loss is larger than another, even if only more victims are added that violate no budget.
func (l *loss) exceeds(o *loss) bool {
	if l.violations != o.violations || l.highest != o.highest {
		return cmp.Or(cmp.Compare(l.violations, o.violations), cmp.Compare(l.highest, o.highest)) > 0
	}
	return l.sum > o.sum
}

// recount counts the priorities of the victims' pods, not of their groups: by these kube-scheduler compares nodes, though the first
// victim is the most important one of the groups' priorities (pkg/scheduler/framework/preemption/preemption.go
// pickOneNodeForPreemption, pkg/scheduler/util/utils.go GetEarliestPodStartTime, v1.37).
func (s *search) recount(l *loss) {
	first := l.victims[0]
	if !l.sorted {
		first = slices.MinFunc(l.victims, func(a, b VictimOn) int { return cluster.CompareImportance(a.Victim, b.Victim) })
	}
	l.highest, _ = s.State.Apart(first.Node, &first.Victim)
	top := int32(math.MinInt32)
	l.sum, l.earliest = 0, math.MaxInt64
	for i := range l.victims {
		v := &l.victims[i]
		priority, _ := s.State.Apart(v.Node, &v.Victim)
		if l.sum += (int64(priority) + math.MaxInt32 + 1) * int64(v.Count); priority > top {
			top, l.earliest = priority, v.Started()
		} else if priority == top {
			l.earliest = min(l.earliest, v.Started())
		}
	}
}
