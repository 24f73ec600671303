// Package gang places pod groups: in queue order or jointly, on any nodes, in one topology domain or in a few.
package gang

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"github.com/stowage-scheduler/stowage/engine/api"
	"github.com/stowage-scheduler/stowage/engine/internal/cluster"
	"github.com/stowage-scheduler/stowage/engine/internal/place"
	"github.com/stowage-scheduler/stowage/engine/internal/preempt"
	"github.com/stowage-scheduler/stowage/engine/verdict"
)

// MaxJointPods bounds the pods of a group that is placed jointly.
const MaxJointPods = 1_000

// PodGroup is a set of queue entries. They are placed together when the first of them is at the head of the queue.
type PodGroup = api.PodGroup

// placer places a queue with groups.
type placer struct {
	*place.Queue
	groups  []PodGroup
	results []verdict.PodGroupPlacement
	profile *api.Profile
	of      []*queued // by entry; nil for an entry without a group
	roster  *preempt.Roster
	surveys *surveys
}

// Place places a queue with groups and sets their results. If it returns an error, the results hold the groups that were
// placed before.
func Place(
	ctx context.Context, q *place.Queue, profile *api.Profile, groups []PodGroup, results []verdict.PodGroupPlacement,
) error {
	p := &placer{Queue: q, groups: groups, results: results, profile: profile, roster: &preempt.Roster{}, surveys: &surveys{}}
	var err error
	if p.of, err = p.queued(); err != nil {
		return err
	}
	p.join()
	for i := range q.Pending {
		switch g := p.of[i]; {
		case g == nil:
			err = q.Place(ctx, i, q.Pending[i].Count, &q.Placements[i], q.Options.Watch)
			if err == nil && q.Placements[i].Unplaced > 0 {
				err = q.Fail(ctx, i)
			}
		case !g.done:
			err = p.group(ctx, g)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// CutOff completes the results of a queue after its deadline.
func CutOff(q *place.Queue, groups []PodGroup, results []verdict.PodGroupPlacement) {
	for i := range q.Placements {
		r := &q.Placements[i]
		if left := q.Pending[i].Count - len(r.Nodes) - r.Unplaced; left > 0 {
			r.Unplaced += left
			r.Unattempted = left
		}
	}
	for i := range results {
		if g := &results[i]; g.Status == 0 {
			*g = verdict.PodGroupPlacement{Name: groups[i].Name, Status: verdict.GroupUnattempted, First: -1}
			for _, e := range groups[i].Entries {
				g.Unplaced += q.Pending[e].Count
			}
		}
	}
}

// queued is a group and the number of pods of its entries.
type queued struct {
	*PodGroup
	index     int
	counts    []int            // number of pods by Entries
	pods      int              // of Entries
	scheduled []cluster.Member // pods that have a node
	there     int              // number of pods in scheduled
	minimum   int              // of its pods that must be placed
	done      bool
}

// have sets the pods of the group that have a node.
func (g *queued) have(scheduled []cluster.Member) {
	g.scheduled, g.there = scheduled, cluster.CountMembers(scheduled)
}

// constrained reports whether the group has a topology, which kube-scheduler's DynamicResources leaves alone.
func (g *queued) constrained() bool { return g.Constrained || len(g.Keys) > 0 }

// mirrored reports whether kube-scheduler supports everything that the group requests.
func (g *queued) mirrored() bool { return !g.Joint && !g.Preferred && len(g.Keys) <= 1 }

// all is the number of the group's pods that must have a node afterwards.
func (g *queued) all() int {
	if g.Minimum == 0 {
		return g.pods + g.there
	}
	return g.Minimum
}

// queued returns the group of each queue entry. It reports groups without entries as done.
func (p *placer) queued() ([]*queued, error) {
	of := make([]*queued, len(p.Pending))
	for i := range p.groups {
		g := &queued{PodGroup: &p.groups[i], index: i}
		for _, e := range g.Entries {
			of[e] = g
			g.counts = append(g.counts, p.Pending[e].Count)
			g.pods += p.Pending[e].Count
		}
		g.have(p.State.Members(g.Name, p.State.Assumed()))
		if g.minimum = max(1, g.all()-g.there); g.pods == 0 {
			g.minimum = 0
		}
		if len(g.Entries) == 0 {
			p.results[i] = verdict.PodGroupPlacement{Name: g.Name, Status: verdict.GroupComplete, First: -1}
			if err := p.notify(g); err != nil {
				return nil, err
			}
		}
	}
	return of, nil
}

// trial is one way to place a group.
type trial struct {
	placements []verdict.Placement // by PodGroup.Entries
	placed     int
	first      int // as verdict.PodGroupPlacement.First
	// domains is the number of domains that the group was tried in; 0 without a topology.
	domains int
	// failure is the message of a group that is placed nowhere because kube-scheduler fails with an error on it or on one of
	// its pods.
	failure string
}

// attemptNone returns a trial that attempts no pod.
func (g *queued) attemptNone() *trial {
	t := &trial{placements: make([]verdict.Placement, len(g.Entries)), first: g.Entries[0]}
	for i, n := range g.counts {
		t.placements[i].Unplaced = n
	}
	return t
}

func (p *placer) group(ctx context.Context, g *queued) error {
	g.done = true
	found := &p.results[g.index]
	if g.minimum > g.pods {
		return p.wait(g, found)
	}
	t, after, err := p.cycle(ctx, g, found)
	if t == nil {
		*found = verdict.PodGroupPlacement{}
		return err
	}
	g.report(t, found, after)
	for i, e := range g.Entries {
		p.Placements[e] = t.placements[i]
	}
	return cmp.Or(p.notify(g), err)
}

// TooFewMembers is why kube-scheduler does not attempt a group that cannot reach its minimum
// (pkg/scheduler/framework/plugins/gangscheduling/gangscheduling.go PreEnqueue, v1.37).
const TooFewMembers = "waiting for minCount pods from a gang to appear in scheduling queue"

// wait reports a group that waits for more pods.
func (p *placer) wait(g *queued, found *verdict.PodGroupPlacement) error {
	*found = verdict.PodGroupPlacement{
		Name: g.Name, Status: verdict.GroupInfeasible, Unplaced: g.pods, First: g.Entries[0], Message: TooFewMembers,
	}
	for i, e := range g.Entries {
		p.Placements[e] = verdict.Placement{Unplaced: g.counts[i], Message: TooFewMembers}
	}
	return p.notify(g)
}

// cycle attempts a group. If it is placed, the state has its pods assumed. Otherwise the postFilter is what kube-scheduler does
// then; nil for nothing. A trial with an error is of a joint group that the deadline cut off.
func (p *placer) cycle(ctx context.Context, g *queued, found *verdict.PodGroupPlacement) (*trial, *postFilter, error) {
	var t *trial
	var err error
	switch failure := p.invalid(g); {
	case failure != "":
		t = g.attemptNone()
		t.failure = failure
	case len(g.Keys) > 0:
		t, err = p.placeInOneDomain(ctx, g, found)
	default:
		t, err = p.placeAnywhere(ctx, g, found)
	}
	var after *postFilter
	if err == nil && p.preempts(g, t) {
		if after, err = p.postFilter(ctx, g, t); err != nil {
			return nil, nil, err
		}
	}
	if err == nil && after != nil && after.failed {
		t, *found = g.attemptNone(), verdict.PodGroupPlacement{}
		t.failure, t.first = after.message, -1
	}
	return t, after, err
}

// placeAnywhere places a group on any candidates, and undoes a placement below the minimum.
func (p *placer) placeAnywhere(ctx context.Context, g *queued, found *verdict.PodGroupPlacement) (*trial, error) {
	if g.Joint {
		t, err := p.placeJointly(ctx, g, p.Candidates, found)
		if t != nil && t.placed >= g.minimum {
			p.commit(g, t)
		}
		return t, err
	}
	mark := p.State.Mark()
	t, err := p.placeInQueueOrder(ctx, g, g.counts, g.minimum)
	if err == nil && t.placed < g.minimum {
		p.Undo(mark)
	}
	return t, err
}

// placeInQueueOrder places a number of pods per entry one by one. It stops once the minimum is out of reach.
func (p *placer) placeInQueueOrder(ctx context.Context, g *queued, counts []int, minimum int) (*trial, error) {
	t := &trial{placements: make([]verdict.Placement, len(g.Entries)), first: -1}
	left := 0
	for i, e := range g.Entries {
		if p.Decision(p.Classes[e]).Gated() == nil {
			left += counts[i]
		}
	}
	for i, e := range g.Entries {
		r := &t.placements[i]
		if t.placed+left < minimum {
			r.Unplaced = counts[i]
			continue
		}
		if err := p.Place(ctx, e, counts[i], r, nil); err != nil {
			return nil, err
		}
		if p.Decision(p.Classes[e]).Gated() == nil {
			left -= counts[i]
		}
		t.placed += len(r.Nodes)
		if r.Unplaced > 0 && t.first < 0 {
			t.first = e
		}
		if r.Unplaced == 0 {
			continue
		}
		if err := p.Classes[e].Error(p.Candidates.Len()); err != "" {
			t.fail(err, e)
			break
		}
	}
	return t, nil
}

// fail rejects the whole group because kube-scheduler fails with an error on a pod of an entry
// (pkg/scheduler/schedule_one_podgroup.go podGroupSchedulingDefaultAlgorithm, v1.37).
func (t *trial) fail(err string, entry int) {
	t.failure = "failed to schedule other pod from a pod group: " + err
	t.first, t.placed = entry, 0
}

// commit assumes the pods of a trial.
func (p *placer) commit(g *queued, t *trial) {
	for i, e := range g.Entries {
		for _, n := range t.placements[i].Nodes {
			p.Assume(e, n)
		}
	}
}

// report sets the result of a group. A trial below the minimum places no pod. after is what kube-scheduler does then; nil for
// nothing.
func (g *queued) report(t *trial, found *verdict.PodGroupPlacement, after *postFilter) {
	if t.placed < g.minimum {
		if found.Status == 0 {
			found.Status = verdict.GroupInfeasible
		}
		found.Message = cmp.Or(found.Message, t.failure, g.outcome(t))
		if t.first < 0 {
			t.first = g.Entries[0]
		}
		reason := found.Message
		if after != nil && !after.failed {
			found.Preemption = after.found
			if undecided := after.found != nil && after.found.Undecided; !undecided {
				found.Message += ", " + after.message // also an empty one (applyPodGroupPostFilterResult)
			}
		}
		g.unplace(t, reason, found.Message, after != nil && after.waits)
	} else if found.Status == 0 {
		found.Status = verdict.GroupBestEffort
		if t.placed == g.pods {
			found.Status = verdict.GroupComplete
		}
	}
	found.Name = g.Name
	found.Failed = t.failure != ""
	found.Placed, found.Unplaced, found.First = t.placed, g.pods-t.placed, t.first
}

// outcome returns why a group is not placed. For one that kube-scheduler would place in the same way it is kube-scheduler's
// text (pkg/scheduler/schedule_one_podgroup.go podGroupSchedulingPlacementAlgorithm and
// pkg/scheduler/framework/plugins/gangscheduling/gangscheduling.go PlacementFeasible, v1.37).
func (g *queued) outcome(t *trial) string {
	if !g.mirrored() {
		return fmt.Sprintf("%d of the %s required can be placed", t.placed, g.required())
	}
	all, scheduled := g.all(), g.there+t.placed
	if g.there >= all {
		return unschedulable // the minimum is met, and no pod can be placed
	}
	status := unschedulable
	attempted := func(r verdict.Placement) bool { return len(r.Nodes) > 0 || r.Message != "" }
	if slices.ContainsFunc(t.placements, attempted) {
		status = fmt.Sprintf("minCount (%d) cannot be satisfied: %d scheduled, %d remaining", all, scheduled, all-1-scheduled)
	}
	return fmt.Sprintf("%s, 0/%d placements are available, first placement status: %s", unschedulable, max(1, t.domains), status)
}

// required returns the minimum as text.
func (g *queued) required() string {
	if g.minimum == 1 {
		return "1 pod"
	}
	return fmt.Sprintf("%d pods", g.minimum)
}

// unplace removes the nodes from a trial whose group is not placed. reason is the part of the text whole that names the cause. waits
// is set if the group waits until victims are gone. The messages are the texts of kube-scheduler's events
// (pkg/scheduler/schedule_one_podgroup.go submitPodGroupAlgorithmResult, v1.37).
func (g *queued) unplace(t *trial, reason, whole string, waits bool) {
	for i := range t.placements {
		r := &t.placements[i]
		fits := len(r.Nodes) > 0
		r.Nodes, r.Scores, r.Unplaced = nil, nil, g.counts[i]
		switch {
		case t.failure != "" && (g.Entries[i] != t.first || r.Message == ""):
			*r = verdict.Placement{Unplaced: g.counts[i], Scanned: r.Scanned, Message: t.failure, Failed: true}
		case r.Message != "":
		case !g.mirrored():
			r.Message = unschedulable
		case fits && waits:
			r.Message = whole
		case fits:
			r.Message = unschedulable + ", " + whole
		default:
			r.Message = reason
		}
	}
	t.placed = 0
}

// unschedulable is what messages about pods begin with that are unplaced only because their group is
// (pkg/scheduler/schedule_one_podgroup.go errPodGroupUnschedulable, v1.37).
const unschedulable = "pod group is unschedulable"

// notify calls the watcher with the result of a group.
func (p *placer) notify(g *queued) error {
	w := p.Options.Watch
	if w == nil {
		return nil
	}
	for _, e := range g.Entries {
		r := &p.Placements[e]
		for _, n := range r.Nodes {
			if err := w.Placed(e, n); err != nil {
				return err
			}
		}
		if err := w.Entry(e, r); err != nil {
			return err
		}
	}
	return w.Group(g.index, &p.results[g.index])
}
