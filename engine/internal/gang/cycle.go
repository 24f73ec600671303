package gang

import (
	"context"
	"slices"

	"github.com/stowage-scheduler/stowage/engine/api"
	"github.com/stowage-scheduler/stowage/engine/internal/cluster"
	"github.com/stowage-scheduler/stowage/engine/internal/place"
	"github.com/stowage-scheduler/stowage/engine/internal/preempt"
	"github.com/stowage-scheduler/stowage/engine/verdict"
)

// AsScheduler returns groups without what kube-scheduler does not have.
func AsScheduler(groups []PodGroup) []PodGroup {
	extends := func(g PodGroup) bool { return g.Joint || g.Preferred || len(g.Keys) > 1 }
	if !slices.ContainsFunc(groups, extends) {
		return groups
	}
	groups = slices.Clone(groups)
	for i := range groups {
		g := &groups[i]
		g.Joint, g.Preferred, g.Keys = false, false, g.Keys[:min(len(g.Keys), 1)]
	}
	return groups
}

// Cycle attempts the pod groups of a queue, each as often as requested, while pods come and leave. Modes and policies that
// kube-scheduler does not support are not allowed in the groups.
type Cycle struct {
	placer
	there, minimum []int // by group: pods that had a node, and that must have one
	before         int   // pods that the state had assumed before
	// Evicts reports whether groups look for victims.
	Evicts bool
}

// NewCycle returns a Cycle for the groups of a queue.
func NewCycle(q *place.Queue, profile *api.Profile, groups []PodGroup) *Cycle {
	c := &Cycle{
		placer: placer{Queue: q, groups: groups, profile: profile, roster: &preempt.Roster{}, surveys: &surveys{}},
		before: q.State.Assumed(), Evicts: true,
	}
	c.of = make([]*queued, len(q.Pending))
	for i := range groups {
		g := &queued{PodGroup: &groups[i], index: i}
		for _, e := range g.Entries {
			c.of[e] = g
			g.pods += q.Pending[e].Count
		}
		g.have(c.State.Members(g.Name, c.before))
		c.there, c.minimum = append(c.there, g.there), append(c.minimum, g.all())
	}
	c.join()
	return c
}

// GroupOf returns the index of the group of a queue entry, -1 for none. Entries that were added are in none.
func (c *Cycle) GroupOf(entry int) int {
	if entry < len(c.of) && c.of[entry] != nil {
		return c.of[entry].index
	}
	return -1
}

// Priority returns the priority with which a group that has entries is queued and preempts.
func (c *Cycle) Priority(group int) int32 { return c.priority(&queued{PodGroup: &c.groups[group]}) }

// Minimum returns the number of pods of a group that must have a node.
func (c *Cycle) Minimum(group int) int { return c.minimum[group] }

// There returns the number of pods of a group that had a node before.
func (c *Cycle) There(group int) int { return c.there[group] }

// Scheduled returns the pods of a group that had a node before and have it still.
func (c *Cycle) Scheduled(group int) []cluster.Member {
	return c.State.Members(c.groups[group].Name, c.before)
}

// Attempt is the result of a pod group cycle. Entries in it are indexes of runs.
type Attempt struct {
	verdict.PodGroupPlacement
	Placements []verdict.Placement
	// Fit is, by run, how many of its first pods found a node, though the group is not placed. Rejected reports that the next one of
	// the run found none.
	Fit      []int
	Rejected []bool
	// Waits reports that the group waits for victims: they leave, the most important first.
	Waits       bool
	Victims     []preempt.VictimOn
	Violations  int
	Nominations []verdict.GroupNomination
	// Listed is the number of nodes and victims that it lists.
	Listed int
}

// Attempt is a pod group cycle (pkg/scheduler/schedule_one_podgroup.go scheduleOnePodGroup, v1.37) for the pods of a group that have
// no node. runs are these pods in their order, minimum is the minimum of the group, and scheduled are its pods that have a node.
// Attempt looks for victims whose eviction makes room for the group, and reports them if report is set. The state keeps the group's
// pods assumed if the group is placed, and is unchanged otherwise.
func (c *Cycle) Attempt(
	ctx context.Context, group int, runs []place.Run, minimum int, scheduled []cluster.Member, report bool,
) (*Attempt, error) {
	spec := c.groups[group]
	spec.Minimum, spec.Entries = minimum, make([]int, len(runs))
	g := &queued{PodGroup: &spec, index: group, counts: make([]int, len(runs))}
	g.have(scheduled)
	for i, r := range runs {
		spec.Entries[i], g.counts[i] = i, r.Count
		g.pods += r.Count
	}
	// kube-scheduler does not attempt the pods of a group that cannot reach its minimum.
	g.minimum = max(1, minimum-g.there)
	p := c.placer
	p.Queue = c.Subset(runs)
	if !c.Evicts {
		p.Options.Preempt = nil
	}
	defer func() {
		c.Rejoin(p.Queue)
	}()
	a := &Attempt{Fit: make([]int, len(runs)), Rejected: make([]bool, len(runs))}
	t, after, err := p.cycle(ctx, g, &a.PodGroupPlacement)
	if err != nil {
		return nil, err
	}
	for i := range t.placements {
		r := &t.placements[i]
		a.Fit[i], a.Rejected[i] = len(r.Nodes), r.Message != "" && t.failure == ""
	}
	if after != nil {
		a.Waits, a.Victims, a.Nominations, a.Violations = after.waits, after.victims, after.nominations, after.violations
		if !report && !after.failed && !(after.found != nil && after.found.Undecided) {
			after = nil
		}
	}
	g.report(t, &a.PodGroupPlacement, after)
	a.Placements, a.Listed = t.placements, p.Listed()
	return a, nil
}
