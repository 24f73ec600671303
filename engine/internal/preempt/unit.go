package preempt

import (
	"context"
	"iter"
	"slices"

	"github.com/stowage-scheduler/stowage/engine/internal/cluster"
	"github.com/stowage-scheduler/stowage/engine/internal/nodeset"
	"github.com/stowage-scheduler/stowage/engine/internal/plugin"
	"github.com/stowage-scheduler/stowage/engine/internal/rule"
	"github.com/stowage-scheduler/stowage/engine/verdict"
)

// Spot is pods of a node that leave together.
type Spot struct {
	Node uint32
	cluster.VictimID
}

// wholeGroups returns the pod groups that are evicted only as a whole, with all of their pods; nil for none.
func wholeGroups(ctx context.Context, s *cluster.State) (map[*cluster.Membership]*unit, error) {
	nodes := s.WholeGroups()
	if nodes.Empty() {
		return nil, ctx.Err()
	}
	var pods Roster
	if err := pods.fill(ctx, s, nodes.All()); err != nil {
		return nil, err
	}
	groups := wholeUnits(nil, pods.whole, nodeset.New(s.Len()))
	whole := make(map[*cluster.Membership]*unit, len(groups))
	for i := range groups {
		whole[groups[i].whole] = &groups[i]
	}
	return whole, ctx.Err()
}

// anyWhole reports whether any victim of the current node leaves only with its pod group.
func (s *search) anyWhole() bool {
	return s.whole != nil && slices.ContainsFunc(s.victims, func(v cluster.Victim) bool {
		m := s.State.Membership(&v)
		return m != nil && m.All
	})
}

// evaluateUnits is evaluate for a node with pods that leave only with the others of their pod group, on any nodes: kube-scheduler
// counts pods of other nodes by PreFilter's extensions (default_preemption.go SelectVictimsOnNode, preemption.go GetVictimsOnNode,
// v1.37). Nothing is remembered about such a node, as pods of other nodes leave.
func (s *search) evaluateUnits(ctx context.Context, node uint32) error {
	all := s.unitsOn(node)
	if all.Empty() {
		s.rejections.Add(ownRejection(verdict.ReasonNoVictims, node))
		return nil
	}
	r, plugins, err := s.passesWithout(ctx, node, all)
	if err != nil {
		return err
	}
	if !r.allows() {
		for i := range r.passes {
			if rejection, rejected := r.passes[i].Rejection(plugins[i].Name); rejected {
				s.rejections.Add(rejection)
				return nil
			}
		}
	}
	slices.SortFunc(all.list, func(a, b leaving) int { return compareUnits(a.unit, b.unit) })
	s.budgets.restore()
	violations, err := all.bringBack(ctx, r, &s.budgets)
	if err != nil {
		return err
	}
	s.current = loss{node: node, violations: violations, victims: append(s.current.victims[:0], all.Gone()...), sorted: true}
	for i := range s.current.victims {
		s.current.pods += int(s.current.victims[i].Count)
	}
	s.recount(&s.current)
	s.finish()
	return nil
}

// unitsOn returns the units of the victims of the current node, in their order.
func (s *search) unitsOn(node uint32) *Units {
	all := &Units{state: s.State}
	seen := make(map[*cluster.Membership]bool)
	for i := range s.victims {
		v := &s.victims[i]
		in := s.State.Membership(v)
		if in == nil || !in.All {
			u := unitOf(s.State, node, v, i)
			all.list = append(all.list, leaving{unit: &u})
			continue
		}
		u := *s.whole[in]
		stays := func(v VictimOn) bool { return s.stays[Spot{v.Node, v.ID()}] }
		if seen[in] || u.priority >= s.Pod.Spec().Priority || slices.ContainsFunc(u.pods, stays) {
			continue
		}
		seen[in], u.order = true, i
		all.list = append(all.list, leaving{unit: &u})
	}
	return all
}

// passesWithout returns the passes over a node, each of one plugin, without any units.
func (s *search) passesWithout(ctx context.Context, node uint32, all *Units) (*reprieving, []*plugin.Plugin, error) {
	r := &reprieving{state: s.State, on: make(map[uint32][]int32), counts: make(map[int32][]countedIn)}
	var plugins []*plugin.Plugin
	track := func(nominated []cluster.Nominated) error {
		parts, err := rulesOf(ctx, s.Decision)
		if err != nil {
			return err
		}
		if len(nominated) > 0 {
			parts, _ = withNominated(s.Decision, parts, nominated)
		}
		for i := range parts {
			t := parts[i].Track(node, nominated, rule.Tracking{Recount: s.RecountSpread, Leaving: all.groupsOn(node)})
			r.on[node] = append(r.on[node], int32(len(r.passes)))
			r.passes, plugins = append(r.passes, groupPass{Tracked: t}), append(plugins, parts[i].Plugin)
		}
		return nil
	}
	if nominated := s.nominated[node]; len(nominated) > 0 {
		if err := track(nominated); err != nil {
			return nil, nil, err
		}
	}
	if err := track(nil); err != nil {
		return nil, nil, err
	}
	for i := range all.list {
		for range all.list[i].copies {
			if _, err := r.come(ctx, all.list[i].unit, -1); err != nil {
				return nil, nil, err
			}
		}
	}
	for i := range r.passes {
		r.reopen(int32(i))
	}
	return r, plugins, ctx.Err()
}

// groupsOn iterates over the pods of a node by group.
func (all *Units) groupsOn(node uint32) iter.Seq2[*cluster.Group, int64] {
	return func(yield func(*cluster.Group, int64) bool) {
		for i := range all.list {
			for j := range all.list[i].pods {
				v := &all.list[i].pods[j]
				if v.Node == node && !yield(all.state.Group(int(v.Group)), int64(v.Count)) {
					return
				}
			}
		}
	}
}
