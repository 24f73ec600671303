package queue

import (
	"cmp"
	"math"
	"slices"

	"github.com/stowage-scheduler/stowage/engine/api"
	"github.com/stowage-scheduler/stowage/engine/internal/cluster"
	"github.com/stowage-scheduler/stowage/engine/internal/decide"
	"github.com/stowage-scheduler/stowage/engine/internal/gang"
	"github.com/stowage-scheduler/stowage/engine/internal/place"
	"github.com/stowage-scheduler/stowage/engine/internal/plugin"
	"github.com/stowage-scheduler/stowage/engine/verdict"
)

// group is a pod group, which the queue has as one entity (pkg/scheduler/framework/types.go QueuedPodGroupInfo, v1.37).
//
// kube-scheduler does not record which plugins rejected a group. So an unplaced group waits for no event. It backs off like pods
// that failed with an error, which are not attempted during their backoff (pkg/scheduler/backend/queue/scheduling_queue.go
// AddAttemptedPodGroupIfNeeded, backoff_queue.go add and popBackoff, v1.37). It comes back with the flush.
type group struct {
	index    int
	priority int32
	minimum  int
	// members are the group's pods without a node, in the order of attempts: by priority, then by creation.
	members []*pods
	placed  []int                // indexes in queue.placed
	gated   *decide.PodRejection // of the first pod with gates, which is of gatedEntry; nil for none
	// gatedEntry is an entry of the group.
	gatedEntry int
	short      bool          // it cannot reach its minimum
	last       *gang.Attempt // nil before the first
	runs       []int         // entries of the runs of last
	round      int           // queue.rounds at the last attempt
	placements int           // number of attempts that placed pods
	domains    []verdict.Domain
	// first caches the results of unplaced, and left the results of member, by entry; both are nil until the queue has ended.
	first map[int]int
	left  map[int]*pods
}

// groupOf returns the group of an entry, nil for none.
func (q *queue) groupOf(entry int) *group {
	if q.cycle == nil {
		return nil
	}
	i := q.cycle.GroupOf(entry)
	if i < 0 {
		return nil
	}
	if q.groups == nil {
		q.groups = make([]*group, len(q.Options.Groups))
	}
	if q.groups[i] == nil {
		q.groups[i] = &group{index: i, priority: q.cycle.Priority(i), minimum: q.cycle.Minimum(i)}
	}
	return q.groups[i]
}

// join adds pods to a group. The first ones are its place in the queue (scheduling_queue.go addPodGroupMember).
func (q *queue) join(g *group, p *pods, gated *decide.PodRejection) {
	if len(g.members) == 0 {
		q.active = append(q.active, &pods{group: g, count: 1})
	}
	if gated != nil && g.gated == nil {
		g.gated, g.gatedEntry = gated, p.entry
	}
	g.members = append(g.members, p)
}

// gateGroups removes groups that have a pod with gates (scheduling_queue.go runPreEnqueuePlugins) from the queue, and groups with
// fewer pods than their minimum (gangscheduling.go PreEnqueue). It sorts the members of the other groups
// (pkg/scheduler/framework/types.go PodGroupMemberPodsOrderingFunc, v1.37).
func (q *queue) gateGroups() {
	for _, g := range q.groups {
		if g != nil {
			pods := q.cycle.There(g.index)
			for _, m := range g.members {
				pods += m.count
			}
			g.short = pods < g.minimum
		}
	}
	q.active = slices.DeleteFunc(q.active, func(p *pods) bool { return p.group != nil && (p.group.gated != nil || p.group.short) })
	for _, g := range q.groups {
		if g != nil {
			slices.SortStableFunc(g.members, func(a, b *pods) int { return cmp.Compare(b.priority(), a.priority()) })
		}
	}
}

// scheduled returns the pods of a group that have a node.
func (q *queue) scheduled(g *group) []cluster.Member {
	scheduled := q.cycle.Scheduled(g.index)
	for _, at := range g.placed {
		if p := &q.placed[at]; !p.evicted {
			pod := &q.Pending[p.entry].Pod
			scheduled = append(scheduled, cluster.Member{
				Namespace: pod.Template.Namespace, Name: pod.Name, Node: p.node, Count: 1, Priority: pod.Template.Spec.Priority,
				NeverPreempts: pod.Template.Spec.NeverPreempts,
			})
		}
	}
	return scheduled
}

// attemptGroup is one pod group cycle. It reports whether the group is attempted again at once: after pods were placed, and before
// pods that are behind it (scheduling_queue.go AddAttemptedPodGroupIfNeeded).
func (q *queue) attemptGroup(p *pods) (left bool, err error) {
	g := p.group
	runs := make([]place.Run, len(g.members))
	for i, m := range g.members {
		runs[i] = place.Run{Entry: m.entry, Count: m.count, Class: m.class}
		if m.nominated != "" {
			runs[i].Class = m.nominee()
		}
	}
	q.blank(g)
	scheduled := q.scheduled(g)
	a, err := q.cycle.Attempt(q.ctx, g.index, runs, g.minimum, scheduled, q.Preempt)
	if err != nil {
		return false, err
	}
	for _, m := range g.members {
		if m.pending != nil && m.pending.Nomination != nil {
			q.State.CountAs(m.pending.Nomination, nil)
		}
	}
	g.runs = g.runs[:0]
	for _, m := range g.members {
		q.entries[m.entry].attempts += uint64(m.count)
		g.runs = append(g.runs, m.entry)
	}
	q.storeGroup(g, a)
	if a.Placed > 0 {
		return q.placeGroup(g, a)
	}
	p.since = q.clock
	q.clock++
	pods := 0
	for _, m := range g.members {
		pods += m.count
	}
	// Otherwise it waits for pods that never come (gangscheduling.go PreEnqueue). A group that backs off already is attempted once more
	// if it loses pods meanwhile (scheduling_queue.go moveToActiveQ, movesFromBackoffQ).
	if pods+cluster.CountMembers(scheduled) >= g.minimum {
		q.leftover = append(q.leftover, p)
	}
	return false, q.failGroup(g, a)
}

// blank makes the nominated pods of a group that is attempted count as pods without a spec and labels: kube-scheduler looks nominated
// pods up in the queue, where they are not (pkg/scheduler/backend/queue/scheduling_queue.go nominatedPodToInfo, v1.37).
func (q *queue) blank(g *group) {
	for _, m := range g.members {
		if m.pending == nil || m.pending.Nomination == nil {
			continue
		}
		namespace := m.class.Pod.Template.Namespace
		p := q.blanks[namespace]
		if p == nil {
			p = q.State.Compile(&api.Pod{Template: &api.PodTemplate{Namespace: namespace}, TemplateIndex: -1})
			if q.blanks == nil {
				q.blanks = make(map[string]*cluster.Pending)
			}
			q.blanks[namespace] = p
		}
		q.State.CountAs(m.pending.Nomination, p)
	}
}

// placeGroup places the pods of a group that the state has assumed.
func (q *queue) placeGroup(g *group, a *gang.Attempt) (left bool, err error) {
	g.placements++
	g.domains = a.Domains
	members := g.members
	g.members = nil
	var shapes departures // each shape once
	for i, m := range members {
		nodes := a.Placements[i].Nodes
		if len(nodes) > 0 {
			q.withdraw(m)
			shapes.add(m.class.Pod.Shape, math.MaxInt32)
		}
		for _, node := range nodes {
			g.placed = append(g.placed, len(q.placed))
			q.placed = append(q.placed, placed{entry: m.entry, node: node})
			q.changes = append(q.changes, node)
			q.changed = true
			m.next()
		}
		if m.count > 0 {
			g.members = append(g.members, m)
		}
	}
	for _, shape := range shapes.shapes {
		if err := q.wake(&plugin.Event{Shape: shape}, math.MaxInt32); err != nil {
			return false, err
		}
	}
	return len(g.members) > 0, nil
}

// actuator is the name that kube-scheduler has for the nodes of the victims of a group. It ends the nominations of pods with a
// lower priority to a node of that name (pkg/scheduler/framework/preemption/podgrouppreemption.go Preempt, v1.37).
const actuator = "cluster"

// failGroup changes the nominations of a group that is not placed, and lets its victims leave (pkg/scheduler/schedule_one_podgroup.go
// submitPodGroupAlgorithmResult, v1.37).
func (q *queue) failGroup(g *group, a *gang.Attempt) error {
	to := make([][]uint32, len(g.members))
	for _, n := range a.Nominations {
		to[n.Entry] = n.Nodes
	}
	members := g.members
	g.members = nil
	for i, m := range members {
		if i%1024 == 1023 && q.ctx.Err() != nil {
			g.members = append(g.members, members[i:]...)
			return q.ctx.Err()
		}
		for _, node := range to[i] {
			one := m.first()
			g.members = append(g.members, one)
			if err := q.nominateTo(one, q.State.Names[node]); err != nil {
				return err
			}
			if one == m {
				m = nil
			}
		}
		if m == nil {
			continue
		}
		g.members = append(g.members, m)
		if a.Failed || !a.Waits && a.Fit[i] > 0 {
			if err := q.nominateTo(m, ""); err != nil {
				return err
			}
		}
	}
	if len(a.Victims) == 0 {
		return nil
	}
	e := verdict.Eviction{Entry: g.members[0].entry, Group: q.Options.Groups[g.index].Name, Nominations: g.nominations(a)}
	e.Violations = a.Violations
	for _, v := range a.Victims {
		e.Victims = append(e.Victims, q.State.VictimReference(v.Node, &v.Victim))
	}
	node, known := q.State.Node(actuator)
	return q.preempt(e, a.Victims, g.priority, node, known)
}

// nominations returns the nominations of an attempt by entry of the queue.
func (g *group) nominations(a *gang.Attempt) []verdict.GroupNomination {
	var out []verdict.GroupNomination
	for _, n := range a.Nominations {
		if last := len(out) - 1; last >= 0 && out[last].Entry == g.runs[n.Entry] {
			out[last].Nodes = append(out[last].Nodes, n.Nodes...)
			continue
		}
		out = append(out, verdict.GroupNomination{Entry: g.runs[n.Entry], Nodes: slices.Clone(n.Nodes)})
	}
	return out
}

// storeGroup keeps an attempt, including its lists if there is room.
func (q *queue) storeGroup(g *group, a *gang.Attempt) {
	if g.last != nil && g.round == q.rounds {
		q.stored -= g.last.Listed
	}
	if g.last, g.round = a, q.rounds; q.stored+a.Listed <= maxStored {
		q.stored += a.Listed
		return
	}
	if a.Listed = 0; a.Preemption != nil && a.Preemption.Listed() > 0 {
		a.Preemption = nil
	}
	for i := range a.Placements {
		a.Placements[i].Rejections = nil
	}
}
