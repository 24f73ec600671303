package engine

import (
	"cmp"
	"context"
	"iter"
	"slices"

	"github.com/stowage-scheduler/stowage/engine/api"
	"github.com/stowage-scheduler/stowage/engine/internal/cluster"
	"github.com/stowage-scheduler/stowage/engine/internal/doubt"
	"github.com/stowage-scheduler/stowage/engine/internal/queue"
	"github.com/stowage-scheduler/stowage/engine/verdict"
)

// Scenario is what happens to a cluster, in the order of the fields, and the pods to place afterwards.
type Scenario struct {
	// Cordoned are nodes that get spec.unschedulable and its taint, unless they have them.
	Cordoned []uint32
	// Evictions are pods that are evicted; a node occurs once.
	Evictions []NodeEvictions
	// Terminating reports that evicted pods are terminating: they occupy their resources and count for affinity, but not for
	// topology spread. Otherwise they are gone.
	Terminating bool
	// Removed are nodes that are removed with the pods that they still have, ascending.
	Removed []uint32
	// Requeue reports that the controllers of evicted pods create them again. These pods are placed behind Queue. With
	// WhatIfOptions.Scheduler, the controllers of preempted pods do so, too.
	Requeue bool

	Queue []Pending
	// Groups are groups of entries of Queue, as in PlaceOptions.Groups.
	Groups []PodGroup
	// Stop is PlaceOptions.StopAtUnplaced.
	Stop bool
}

// NodeEvictions is pods of a node that are evicted.
type NodeEvictions struct {
	Node uint32
	// Drained selects all pods that kubectl drain evicts. Named and Counted are empty then.
	Drained bool
	// Named are positions in NamedPods, each once.
	Named []int
	// Counted are numbers of the counted pods that the node has.
	Counted []api.PodCount
}

// WhatIfOptions are the arguments of WhatIf in addition to the scenario.
type WhatIfOptions struct {
	Profile *api.Profile
	// Seed, FewestPods and Scheduler are fields of PlaceOptions.
	Seed       uint64
	FewestPods bool
	Scheduler  bool
}

// NamedPods iterates over the namespaces and names of the pods of a node that are not only counted.
func (c *Cluster) NamedPods(node uint32) iter.Seq2[string, string] { return c.compiled.NamedOn(node) }

// CountedPods returns a function for the number of counted pods on a node that equal the pods of a count. It looks through the pods
// of the node once.
func (c *Cluster) CountedPods(node uint32) func(api.PodCount) int {
	counted := c.compiled.CountedOn(node)
	return func(p api.PodCount) int { return int(counted(p.Template, p.Terminating, p.Readiness).Count) }
}

// WhatIf places the pods of a scenario. c stays unchanged, and calls for several scenarios share it. The result is the same as from
// Place on the cluster after the scenario, compiled from scratch, except that nodes keep their indexes of c.
func (c *Cluster) WhatIf(ctx context.Context, s *Scenario, o WhatIfOptions) (*verdict.WhatIf, error) {
	evicted, err := c.evicted(ctx, s)
	if err != nil {
		return nil, err
	}
	pending, requeued, left := c.requeue(s, evicted, o.Profile)
	slices.SortStableFunc(evicted, func(a, b cluster.Evictee) int { return cmp.Compare(a.Node, b.Node) })
	after, err := c.compiled.Disrupted(ctx, &cluster.Disruption{
		Cordoned: s.Cordoned, Evicted: evicted, Terminating: s.Terminating, Removed: s.Removed,
	})
	if err != nil {
		return nil, err
	}
	place := PlaceOptions{
		Profile: o.Profile, Seed: o.Seed, FewestPods: o.FewestPods, Scheduler: o.Scheduler, Groups: s.Groups, StopAtUnplaced: s.Stop,
	}
	var before []uint32 // nodes by index after the removal; nil for the same
	if len(s.Removed) > 0 {
		before = remaining(c.Len(), s.Removed)
	}
	returns := &queue.Returns{}
	if s.Requeue && o.Scheduler {
		place.returns = returns
	}
	result, err := c.derived(after).Place(ctx, pending, place)
	if err != nil {
		return nil, err
	}
	known := len(pending) - len(s.Queue)
	for _, r := range requeued[known:] { // unknown
		result.Placements = append(result.Placements, verdict.Placement{Unplaced: r.Pod.Count})
	}
	if before != nil {
		renumber(result, before)
		for _, pods := range [][]verdict.PodReference{returns.Entries, returns.Gone, returns.Late} {
			for i := range pods {
				pods[i].Node = before[pods[i].Node]
			}
		}
	}
	unknown := slices.Clone(requeued[known:])
	requeued = requeued[:known]
	for _, of := range returns.Entries {
		requeued = append(requeued, verdict.Requeued{Pod: of, Preempted: true})
	}
	requeued = append(requeued, unknown...)
	result.Doubts = slices.Concat(result.Doubts, left, c.preempted(&place, result))
	return &verdict.WhatIf{Place: *result, Requeued: requeued}, nil
}

// preempted returns the doubts about the pods that a queue preempted.
func (c *Cluster) preempted(o *PlaceOptions, result *verdict.Place) []verdict.Doubt {
	ledger := doubt.NewLedger(o.Profile)
	if o.returns == nil {
		for i := range result.Evictions {
			ledger.Preempted(c.Templates(), result.Evictions[i].Victims)
		}
		return ledger.Doubts()
	}
	ledger.Undecided = o.returns.Undecided
	for i, of := range o.returns.Entries {
		ledger.Pod(&api.Pod{Template: c.Templates()[of.Template], Unread: o.returns.Unread[i]}, of)
	}
	ledger.Preempted(c.Templates(), o.returns.Gone)
	for _, of := range o.returns.Late {
		ledger.Note(verdict.Doubt{Kind: verdict.LimitMet, Pod: of})
	}
	return ledger.Doubts()
}

// evicted returns the evicted pods in the order of the scenario.
func (c *Cluster) evicted(ctx context.Context, s *Scenario) (evicted []cluster.Evictee, err error) {
	for i := range s.Evictions {
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		evicted = c.evictedOn(evicted, &s.Evictions[i])
	}
	return evicted, nil
}

// evictedOn appends the evicted pods of a node.
func (c *Cluster) evictedOn(evicted []cluster.Evictee, n *NodeEvictions) []cluster.Evictee {
	if n.Drained {
		return c.compiled.Drained(evicted, n.Node)
	}
	for _, at := range n.Named {
		evicted = append(evicted, c.compiled.Named(n.Node, at))
	}
	if len(n.Counted) == 0 {
		return evicted
	}
	counted := c.compiled.CountedOn(n.Node)
	for _, p := range n.Counted {
		e := counted(p.Template, p.Terminating, p.Readiness)
		e.Count = p.Count
		evicted = append(evicted, e)
	}
	return evicted
}

// Returning returns the number of evicted pods of a scenario that come back.
func (c *Cluster) Returning(ctx context.Context, s *Scenario) (pods int64, err error) {
	if !s.Requeue {
		return 0, nil
	}
	evicted, err := c.evicted(ctx, s)
	for i := range evicted {
		if created := c.compiled.Created(&evicted[i]); !created.Own && (created.Pod != nil || created.Unknown) {
			pods += int64(evicted[i].Count)
		}
	}
	return pods, err
}

// requeue returns the queue of a scenario with the pods that controllers create again, and all of these. Pods that are not in the
// queue are the last ones. left are the doubts about pods that are left to other schedulers.
func (c *Cluster) requeue(
	s *Scenario, evicted []cluster.Evictee, profile *api.Profile,
) (queue []Pending, requeued []verdict.Requeued, left []verdict.Doubt) {
	queue = slices.Clip(s.Queue)
	if !s.Requeue {
		return queue, nil, nil
	}
	var unknown []verdict.Requeued
	ledger := doubt.NewLedger(profile)
	for i := range evicted {
		e := &evicted[i]
		switch created := c.compiled.Created(e); {
		case created.Own:
		case created.Unknown:
			unknown = append(unknown, verdict.Requeued{Pod: c.compiled.Reference(e), Unknown: true})
		case created.Pod != nil && doubt.Left(profile, created.Pod.Template):
			ledger.Pod(created.Pod, c.compiled.Reference(e))
		case created.Pod != nil:
			queue = append(queue, Pending{Pod: *created.Pod, Count: int(e.Count)})
			requeued = append(requeued, verdict.Requeued{Pod: c.compiled.Reference(e)})
		}
	}
	return queue, append(requeued, unknown...), ledger.Doubts()
}

// remaining returns the indexes of the nodes that are left of n nodes without some, ascending.
func remaining(n int, removed []uint32) []uint32 {
	left := make([]uint32, 0, n-len(removed))
	for i := range uint32(n) {
		if len(removed) > 0 && removed[0] == i {
			removed = removed[1:]
			continue
		}
		left = append(left, i)
	}
	return left
}

// renumber sets the indexes of nodes to their indexes before a removal. Placements of one equivalence class share rejections.
func renumber(p *verdict.Place, before []uint32) {
	renumbered := make(map[*verdict.Rejection][]verdict.Rejection) // by the first of a list
	for i := range p.Placements {
		of := &p.Placements[i]
		for j, n := range of.Nodes {
			of.Nodes[j] = before[n]
		}
		if len(of.Rejections) == 0 {
			continue
		}
		list, known := renumbered[&of.Rejections[0]]
		if !known {
			list = slices.Clone(of.Rejections)
			for j := range list {
				list[j].Nodes = slices.Clone(list[j].Nodes)
				for k, n := range list[j].Nodes {
					list[j].Nodes[k] = before[n]
				}
			}
			renumbered[&of.Rejections[0]] = list
		}
		of.Rejections = list
	}
	p.Bindings = slices.Clone(p.Bindings)
	for i := range p.Bindings {
		p.Bindings[i].Node = before[p.Bindings[i].Node]
	}
	p.Devices = slices.Clone(p.Devices)
	for i := range p.Devices {
		p.Devices[i].Node = before[p.Devices[i].Node]
	}
	for i := range p.Evictions {
		e := &p.Evictions[i]
		if e.Group == "" {
			e.Node = before[e.Node]
		}
		for _, nomination := range e.Nominations {
			for j, n := range nomination.Nodes {
				nomination.Nodes[j] = before[n]
			}
		}
		for j := range e.Victims {
			e.Victims[j].Node = before[e.Victims[j].Node]
		}
	}
}
