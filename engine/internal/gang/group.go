// Package gang places groups of pods: in the queue's order or jointly, anywhere, in one topology domain, or in few.
package gang

import (
	"cmp"
	"context"
	"fmt"

	"github.com/stowage-scheduler/stowage/engine/api"
	"github.com/stowage-scheduler/stowage/engine/internal/place"
	"github.com/stowage-scheduler/stowage/engine/verdict"
)

// Group is queue entries that are placed together, when the first of them is at the head of the queue.
type Group struct {
	Name string
	// Entries are indexes into the queue, in ascending order.
	Entries []int
	// Minimum is how many of the pods have to get a node: fewer never do. 0 stands for all.
	Minimum int
	// Joint asks for a placement of the group as a whole, by PlaceJointly, in so many Steps.
	Joint bool
	Steps int
	// Keys are topology keys: the group goes to one domain of the first that has one that takes the minimum. With
	// Preferred it goes to few domains of the last one if there is none, or else anywhere.
	Keys      []string
	Preferred bool
}

// placer places a queue with groups.
type placer struct {
	*place.Queue
	groups  []Group
	results []verdict.Group
	profile *api.Profile
	prefer  []uint32 // nodes in the order of ties; nil until needed
}

// Place places a queue with groups, whose results it sets. What it has decided when an error comes is in the results, too.
func Place(ctx context.Context, q *place.Queue, profile *api.Profile, groups []Group, results []verdict.Group) error {
	p := &placer{Queue: q, groups: groups, results: results, profile: profile}
	of, err := p.grouped()
	if err != nil {
		return err
	}
	for i := range q.Pending {
		switch g := of[i]; {
		case g == nil:
			err = q.Place(ctx, i, q.Pending[i].Count, &q.Placements[i], q.Options.Watch)
		case !g.done:
			err = p.group(ctx, g)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// CutOff completes the results of a queue whose deadline came before its end.
func CutOff(q *place.Queue, groups []Group, results []verdict.Group) {
	for i := range q.Placements {
		r := &q.Placements[i]
		if left := q.Pending[i].Count - len(r.Nodes) - r.Unplaced; left > 0 {
			r.Unplaced += left
			r.Unattempted = left
		}
	}
	for i := range results {
		if g := &results[i]; g.Status == 0 {
			*g = verdict.Group{Name: groups[i].Name, Status: verdict.GroupUnattempted, First: -1}
			for _, e := range groups[i].Entries {
				g.Unplaced += q.Pending[e].Count
			}
		}
	}
}

// grouped is a group that is being placed.
type grouped struct {
	*Group
	index   int
	counts  []int // of pods, by Entries
	pods    int
	minimum int
	done    bool
}

// grouped returns the group of each queue entry. Groups that have none are done.
func (p *placer) grouped() ([]*grouped, error) {
	of := make([]*grouped, len(p.Pending))
	for i := range p.groups {
		g := &grouped{Group: &p.groups[i], index: i}
		for _, e := range g.Entries {
			of[e] = g
			g.counts = append(g.counts, p.Pending[e].Count)
			g.pods += p.Pending[e].Count
		}
		g.minimum = g.Minimum
		if g.minimum == 0 {
			g.minimum = g.pods
		}
		if len(g.Entries) == 0 {
			p.results[i] = verdict.Group{Name: g.Name, Status: verdict.GroupComplete, First: -1}
			if err := p.tell(g); err != nil {
				return nil, err
			}
		}
	}
	return of, nil
}

// trial is one way of placing a group.
type trial struct {
	placements []verdict.Placement // by Group.Entries
	placed     int
	first      int // as verdict.Group.First
	// failure is why the whole group is not placed, if kube-scheduler fails on one of its pods.
	failure string
}

// group places a group.
func (p *placer) group(ctx context.Context, g *grouped) error {
	g.done = true
	found := &p.results[g.index]
	var t *trial
	var err error
	if len(g.Keys) > 0 {
		t, err = p.together(ctx, g, found)
	} else {
		t, err = p.anywhere(ctx, g, found)
	}
	if err != nil {
		*found = verdict.Group{}
		return err
	}
	g.settle(t, found)
	for i, e := range g.Entries {
		p.Placements[e] = t.placements[i]
	}
	return p.tell(g)
}

// anywhere places a group's pods on any candidates, and leaves the state as it was if they are too few.
func (p *placer) anywhere(ctx context.Context, g *grouped, found *verdict.Group) (*trial, error) {
	if g.Joint {
		t, err := p.jointly(ctx, g, p.Candidates, found)
		if err == nil && t.placed >= g.minimum {
			p.commit(g, t)
		}
		return t, err
	}
	mark := len(p.State.AssumedPods())
	t, err := p.inTurn(ctx, g, g.counts, g.minimum)
	if err == nil && t.placed < g.minimum {
		p.Forget(mark)
		found.Message = t.failure
	}
	return t, err
}

// inTurn places pods of a group one by one, so many of each entry, until it is clear that they will be too few.
func (p *placer) inTurn(ctx context.Context, g *grouped, counts []int, minimum int) (*trial, error) {
	t := &trial{placements: make([]verdict.Placement, len(g.Entries)), first: -1}
	left := 0
	for _, n := range counts {
		left += n
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
		left -= counts[i]
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

// fail gives up a group because kube-scheduler fails on a pod of an entry
// (pkg/scheduler/schedule_one_podgroup.go podGroupSchedulingDefaultAlgorithm, v1.37).
func (t *trial) fail(err string, entry int) {
	t.failure = "failed to schedule other pod from a pod group: " + err
	t.first, t.placed = entry, 0
}

// commit counts the pods of a trial from now on.
func (p *placer) commit(g *grouped, t *trial) {
	for i, e := range g.Entries {
		for _, n := range t.placements[i].Nodes {
			p.Assume(e, n)
		}
	}
}

// settle says what became of a group. Too few pods are none.
func (g *grouped) settle(t *trial, found *verdict.Group) {
	if t.placed < g.minimum {
		if found.Status == 0 {
			found.Status = verdict.GroupInfeasible
		}
		if found.Message == "" {
			found.Message = fmt.Sprintf("%d of the %s required can be placed", t.placed, g.required())
		}
		g.withdraw(t)
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

// required names the minimum.
func (g *grouped) required() string {
	if g.minimum == 1 {
		return "1 pod"
	}
	return fmt.Sprintf("%d pods", g.minimum)
}

// withdraw takes the nodes of a trial away.
func (g *grouped) withdraw(t *trial) {
	for i := range t.placements {
		r := &t.placements[i]
		r.Nodes, r.Scores, r.Unplaced = nil, nil, g.counts[i]
		if r.Message == "" {
			r.Message = cmp.Or(t.failure, unschedulable)
		}
	}
	t.placed = 0
}

// unschedulable is why pods are not placed that could be, or were not asked about, if their group is not
// (pkg/scheduler/schedule_one_podgroup.go errPodGroupUnschedulable, v1.37).
const unschedulable = "pod group is unschedulable"

// tell tells the watcher of a group.
func (p *placer) tell(g *grouped) error {
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
