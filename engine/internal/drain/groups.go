package drain

import (
	"cmp"
	"context"
	"slices"

	"github.com/stowage-scheduler/stowage/engine/api"
	"github.com/stowage-scheduler/stowage/engine/internal/cluster"
	"github.com/stowage-scheduler/stowage/engine/internal/gang"
	"github.com/stowage-scheduler/stowage/engine/internal/place"
)

// groups are the pod groups of the cluster to which pods come back. kube-scheduler attempts the pending pods of such a group
// together; the group's pods that have a node count for its minimum.
type groups struct {
	list  []gang.PodGroup // with the entries of plan.pending
	index map[string]int  // by name
}

// findGroups returns the groups that the pods of a plan are in.
func findGroups(ctx context.Context, s *cluster.State, pending []place.Pending) (g groups) {
	for entry := range pending {
		g.add(ctx, s, pending[entry].Pod.Template, entry)
	}
	return g
}

// add adds an entry of a queue to the group of a template, if the cluster has it. A group without a minimum needs all of its pods.
func (g *groups) add(ctx context.Context, s *cluster.State, t *api.PodTemplate, entry int) {
	name := cluster.PodGroupOf(t)
	if name == "" {
		return
	}
	i, known := g.index[name]
	if !known {
		of, defined := s.PodGroup(name)
		if !defined {
			return
		}
		if g.index == nil {
			g.index = make(map[string]int)
		}
		i, g.index[name] = len(g.list), len(g.list)
		g.list = append(g.list, *of)
		own, members := &g.list[i], cluster.CountMembers(s.Original(ctx).Members(name, 0))
		own.Joint = own.Joint && members <= gang.MaxJointPods
		if own.Minimum == 0 {
			own.Minimum = members
		}
	}
	g.list[i].Entries = append(g.list[i].Entries, entry)
}

// of returns the index of the group that the pods of a batch are in, -1 for none.
func (g *groups) of(b *batch) int {
	if len(g.list) == 0 {
		return -1
	}
	if i, known := g.index[cluster.PodGroupOf(b.fate.created.Pod.Template)]; known {
		return i
	}
	return -1
}

// groupsAmong returns the groups of the pending pods, each of which is an entry of a queue.
func (r *run) groupsAmong() []gang.PodGroup {
	var among groups
	for entry := range r.pending {
		among.add(r.ctx, r.state, r.pending[entry].fate.created.Pod.Template, entry)
	}
	return gang.AsScheduler(among.list)
}

// placeGroup attempts the pending pods of a group together. The first of pending is its first batch.
func (r *run) placeGroup(group int, pending []batch) error {
	var members []*batch
	pods := 0
	for i := range pending {
		if b := &pending[i]; r.groups.of(b) == group {
			members = append(members, b)
			pods += b.count
		}
	}
	slices.SortStableFunc(members, func(a, b *batch) int {
		return cmp.Compare(b.fate.created.Pod.Template.Spec.Priority, a.fate.created.Pod.Template.Spec.Priority)
	})
	of := &r.groups.list[group]
	scheduled := r.state.Members(of.Name, r.state.Assumed())
	if pods+cluster.CountMembers(scheduled) < of.Minimum {
		for _, b := range members {
			b.message = gang.TooFewMembers
		}
		return r.ctx.Err()
	}
	var runs []place.Run
	for _, b := range members {
		class := r.queue.Classes[b.fate.entry]
		runs = append(runs, place.Run{Entry: b.fate.entry, Count: b.count, Class: class})
		r.used = append(r.used, class)
	}
	a, err := r.cycle.Attempt(r.ctx, group, runs, of.Minimum, scheduled, false)
	if err != nil {
		return err
	}
	for i, b := range members {
		result := &a.Placements[i]
		r.version += len(result.Nodes)
		b.placed, b.count, b.message = result.Nodes, b.count-len(result.Nodes), result.Message
	}
	return nil
}
