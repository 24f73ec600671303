package preempt

import (
	"cmp"
	"context"

	"github.com/stowage-scheduler/stowage/engine/internal/cluster"
	"github.com/stowage-scheduler/stowage/engine/verdict"
)

// Units are what a pod group may preempt: pods, and pod groups as a whole, on any nodes
// (pkg/scheduler/framework/preemption/podgrouppreemption.go, v1.37).
type Units struct {
	state *cluster.State
	list  []leaving // the most important first
}

// unit is pods that preemption evicts together, or equal pods that it evicts one by one.
type unit struct {
	pods     []VictimOn
	copies   int32 // equal pods; 1 for several pods
	priority int32
	grouped  bool
	started  int64
	placed   int // how many pods the request had assumed before; -1 if it has not assumed them
	order    int // by node, and by the order of AllVictims on it
	whole    *cluster.Membership
}

// leaving is a unit, and how many of its copies are evicted in the end.
type leaving struct {
	*unit
	gone int32
}

// VictimOn is victims on a node.
type VictimOn struct {
	Node uint32
	cluster.Victim
}

// compareUnits orders units, the most important first (pkg/scheduler/framework/preemption/util.go MoreImportantVictim, v1.37),
// then the one that was placed first, then the one that is found first.
func compareUnits(a, b *unit) int {
	rank := func(u *unit) int {
		if u.grouped {
			return 1
		}
		return 0
	}
	return cmp.Or(cmp.Compare(b.priority, a.priority), cmp.Compare(rank(b), rank(a)), cmp.Compare(b.size(), a.size()),
		cmp.Compare(a.started, b.started), cmp.Compare(a.placed, b.placed), cmp.Compare(a.order, b.order))
}

// size is the number of pods that leave together.
func (u *unit) size() int {
	if u.whole == nil {
		return 1
	}
	n := 0
	for i := range u.pods {
		n += int(u.pods[i].Count)
	}
	return n
}

// each returns how many pods of an entry come or leave at once.
func (u *unit) each(v *VictimOn) int64 {
	if u.whole == nil {
		return 1
	}
	return int64(v.Count)
}

// Empty reports whether there are no units.
func (all *Units) Empty() bool { return len(all.list) == 0 }

// Evict evicts all units from the state.
func (all *Units) Evict(ctx context.Context) error {
	on := make(map[uint32][]cluster.Victim)
	for i := range all.list {
		for j := range all.list[i].pods {
			v := &all.list[i].pods[j]
			on[v.Node] = append(on[v.Node], v.Victim)
		}
	}
	for n := range uint32(all.state.Len()) {
		victims := on[n]
		if len(victims) == 0 {
			continue
		}
		all.state.LeavePorts(n, victims)
		for i := range victims {
			if i%16 == 0 && ctx.Err() != nil {
				return ctx.Err()
			}
			all.state.EvictVictim(n, &victims[i])
		}
	}
	return ctx.Err()
}

// Gone returns the victims that Reprieve has not brought back, the most important first.
func (all *Units) Gone() []VictimOn {
	var gone []VictimOn
	for i := range all.list {
		u := &all.list[i]
		if u.gone == 0 {
			continue
		}
		for _, v := range u.pods {
			if u.whole == nil {
				v.Count = u.gone
			}
			gone = append(gone, v)
		}
	}
	return gone
}

// report adds the units that are gone.
func (all *Units) report(out *verdict.GroupPreemption) {
	for i := range all.list {
		u := &all.list[i]
		out.Count += int(u.gone) * u.size()
		if u.grouped {
			out.Disruptions += int(u.gone)
		}
	}
	for _, v := range all.Gone() {
		out.Victims = append(out.Victims, all.state.VictimReference(v.Node, &v.Victim))
	}
}
