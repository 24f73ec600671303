package preempt

import (
	"cmp"
	"context"
	"iter"
	"slices"

	"github.com/stowage-scheduler/stowage/engine/internal/cluster"
	"github.com/stowage-scheduler/stowage/engine/internal/nodeset"
)

// Roster is the units of the cluster before the request, sorted once for all pod groups of the request. The zero value is empty, and
// is filled on first use.
type Roster struct {
	known  bool
	single []unit // the most important first
	whole  []unit // each of one pod, by node
}

// fill adds the units of some nodes, as a state has them, in the order of nodes. They are not sorted.
func (r *Roster) fill(ctx context.Context, s *cluster.State, nodes iter.Seq[uint32]) error {
	var victims []cluster.Victim
	looked := 0
	for n := range nodes {
		if looked++; looked%64 == 0 && ctx.Err() != nil {
			return ctx.Err()
		}
		victims = s.AllVictims(victims[:0], n)
		for i := range victims {
			v := &victims[i]
			u := unitOf(s, n, v, int(n)<<32|i)
			if in := s.Membership(v); in != nil && in.All {
				u.whole = in
				r.whole = append(r.whole, u)
			} else {
				r.single = append(r.single, u)
			}
		}
	}
	return ctx.Err()
}

// unitOf returns victims of a node that leave one by one.
func unitOf(s *cluster.State, node uint32, v *cluster.Victim, order int) unit {
	u := unit{
		pods: []VictimOn{{node, *v}}, copies: v.Count, priority: v.Priority, grouped: s.Membership(v) != nil, started: v.Started(),
		placed: -1, order: order,
	}
	if at, assumed := v.Assumed(); assumed {
		u.placed = at
	}
	return u
}

// Units returns the units with a priority below a given one, as a state has them that differs from the cluster in pods that the
// request assumed and evicted.
func (r *Roster) Units(ctx context.Context, s *cluster.State, below int32) (*Units, error) {
	if !r.known {
		original := s.Original(ctx)
		filled := Roster{known: true}
		if err := filled.fill(ctx, original, nodeset.Full(s.Len()).All()); err != nil {
			return nil, err
		}
		slices.SortFunc(filled.single, func(a, b unit) int { return compareUnits(&a, &b) })
		*r = filled
	}
	touched, now := s.Touched(), Roster{}
	if err := now.fill(ctx, s, touched.All()); err != nil {
		return nil, err
	}
	now.single = append(now.single, wholeUnits(r.whole, now.whole, touched)...)
	slices.SortFunc(now.single, func(a, b unit) int { return compareUnits(&a, &b) })
	all := &Units{state: s}
	lower := func(units []unit) []unit {
		first, _ := slices.BinarySearchFunc(units, below, func(u unit, below int32) int {
			if u.priority >= below {
				return -1
			}
			return 1
		})
		return units[first:]
	}
	changed := lower(now.single)
	for unchanged := lower(r.single); len(unchanged) > 0; unchanged = unchanged[1:] {
		u := &unchanged[0]
		if touched.Has(u.pods[0].Node) {
			continue
		}
		for len(changed) > 0 && compareUnits(&changed[0], u) < 0 {
			all.list = append(all.list, leaving{unit: &changed[0]})
			changed = changed[1:]
		}
		all.list = append(all.list, leaving{unit: u})
	}
	for i := range changed {
		all.list = append(all.list, leaving{unit: &changed[i]})
	}
	return all, ctx.Err()
}

// wholeUnits returns the pod groups that leave as a whole, of pods on nodes that the request has not touched, and on others.
func wholeUnits(original, now []unit, touched nodeset.Set) (groups []unit) {
	var pods []unit
	for i := range original {
		if !touched.Has(original[i].pods[0].Node) {
			pods = append(pods, original[i])
		}
	}
	pods = append(pods, now...)
	slices.SortFunc(pods, func(a, b unit) int { return cmp.Compare(a.order, b.order) })
	index := make(map[*cluster.Membership]int)
	for _, u := range pods {
		at, known := index[u.whole]
		if !known {
			index[u.whole] = len(groups)
			u.pods, u.copies = slices.Clip(u.pods), 1
			groups = append(groups, u)
			continue
		}
		group := &groups[at]
		group.pods = append(group.pods, u.pods...)
		group.priority, group.started = max(group.priority, u.priority), min(group.started, u.started)
		group.placed = min(group.placed, u.placed)
	}
	return groups
}
