package engine

import (
	"context"
	"errors"

	"github.com/stowage-scheduler/stowage/engine/api"
	"github.com/stowage-scheduler/stowage/engine/internal/change"
	"github.com/stowage-scheduler/stowage/engine/internal/cluster"
	"github.com/stowage-scheduler/stowage/engine/internal/doubt"
	"github.com/stowage-scheduler/stowage/engine/internal/gang"
	"github.com/stowage-scheduler/stowage/engine/internal/place"
	"github.com/stowage-scheduler/stowage/engine/internal/queue"
	"github.com/stowage-scheduler/stowage/engine/internal/scaledown"
	"github.com/stowage-scheduler/stowage/engine/verdict"
)

// Pending is a queue entry: a number of identical pods in a row.
type Pending = place.Pending

// PodGroup is queue entries that are placed together.
type PodGroup = gang.PodGroup

// Watcher receives placements when they are decided.
type Watcher = place.Watcher

// PlaceOptions are the arguments of Place in addition to the queue.
type PlaceOptions struct {
	Profile    *api.Profile
	Candidates []uint32
	// Seed breaks ties between the best nodes: with 0 the lowest index wins, otherwise the first in ascending order of
	// splitmix64(Seed xor FNV-1a-64(name)), then of index.
	Seed uint64
	// FewestPods breaks ties before the seed: the node with the fewest pods wins, assumed ones included, then the one with the
	// lowest position by the seed xor that number. From 4095 on, numbers of pods count as equal.
	FewestPods bool
	Explain    bool
	// Changes requests Placement.Changes.
	Changes bool
	// Preempt requests Placement.Preemption.
	Preempt bool
	// Scheduler places the queue as kube-scheduler's does: by priority, with preemption, and with further attempts. Groups count
	// as not joint then, without Preferred, and with their first key only.
	Scheduler bool
	// Groups are entries that are placed together. An entry is in at most one. One that is in none is in the group that its pod names,
	// if the cluster has it or one of Groups is called so.
	Groups []PodGroup
	// StopAtUnplaced ends the queue after the first entry or group with an unplaced pod. Not with Scheduler.
	StopAtUnplaced bool
	// Partial returns the placements so far if the context's deadline comes.
	Partial bool
	// Watch receives placements when they are decided; may be nil.
	Watch Watcher
	// Scan evaluates every node for every pod and disables equivalence classes. It is the reference implementation and
	// gives the same nodes.
	Scan bool

	returns *queue.Returns // of WhatIf; nil for none
	tuning  place.Tuning
}

// Place places the pods of the queue one by one, and pods of a group together. It assumes each placed pod on its node.
func (c *Cluster) Place(ctx context.Context, queue []Pending, o PlaceOptions) (*verdict.Place, error) {
	o.Groups = c.grouped(queue, o.Groups)
	place := c.inOrder
	if o.Scheduler {
		o.Groups = gang.AsScheduler(o.Groups)
		place = c.schedule
	}
	return place(ctx, queue, &o)
}

// inOrder is Place without PlaceOptions.Scheduler.
func (c *Cluster) inOrder(ctx context.Context, queue []Pending, o *PlaceOptions) (*verdict.Place, error) {
	f := c.framework(o.Profile)
	if o.StopAtUnplaced {
		o.Watch = newStopper(o, len(queue))
	}
	q, err := place.New(ctx, f, cluster.NewState(ctx, c.compiled), c.candidates(o.Candidates), queue, place.Options{
		Seed: o.Seed, FewestPods: o.FewestPods, Explain: o.Explain, Changes: o.Changes, Preempt: preempts(len(queue), o), Watch: o.Watch, Scan: o.Scan,
		Tuning: o.tuning,
	})
	q.Explainer = change.Find
	groups := make([]verdict.PodGroupPlacement, len(o.Groups))
	if err == nil {
		err = gang.Place(ctx, q, o.Profile, o.Groups, groups)
	}
	result := &verdict.Place{Placements: q.Placements, Groups: groups, Bindings: q.State.ClaimBindings(), Devices: q.State.PodDevices()}
	result.Doubts = doubt.OfQueue(o.Profile, queue, o.Groups, q.State.Undecided())
	if result.Partial = errors.Is(err, context.DeadlineExceeded) && o.Partial; result.Partial {
		err = nil
	}
	if result.Stopped = errors.Is(err, errStopped); result.Stopped {
		err = nil
	}
	if err != nil {
		return nil, err
	}
	if result.Partial || result.Stopped {
		gang.CutOff(q, o.Groups, groups)
	}
	return result, nil
}

// errStopped ends a queue at an unplaced pod.
var errStopped = errors.New("a pod is unplaced")

// stopper watches for the first entry or group with an unplaced pod.
type stopper struct {
	watch   Watcher // may be nil
	grouped []bool  // by entry
}

func newStopper(o *PlaceOptions, entries int) *stopper {
	s := &stopper{o.Watch, make([]bool, entries)}
	for _, g := range o.Groups {
		for _, entry := range g.Entries {
			s.grouped[entry] = true
		}
	}
	return s
}

func (s *stopper) Evicted(evictions []verdict.Eviction, pods int) error {
	if s.watch == nil {
		return nil
	}
	return s.watch.Evicted(evictions, pods)
}

func (s *stopper) Placed(entry int, node uint32) error {
	if s.watch == nil {
		return nil
	}
	return s.watch.Placed(entry, node)
}

func (s *stopper) Entry(entry int, p *verdict.Placement) error {
	if s.watch != nil {
		if err := s.watch.Entry(entry, p); err != nil {
			return err
		}
	}
	if p.Unplaced > 0 && !s.grouped[entry] {
		return errStopped
	}
	return nil
}

func (s *stopper) Group(group int, g *verdict.PodGroupPlacement) error {
	if s.watch != nil {
		if err := s.watch.Group(group, g); err != nil {
			return err
		}
	}
	if g.Unplaced > 0 {
		return errStopped
	}
	return nil
}

// preempts reports by entry whether its first unplaced pod looks for victims; nil for none. Pods of a group do not.
func preempts(entries int, o *PlaceOptions) []bool {
	if !o.Preempt {
		return nil
	}
	alone := make([]bool, entries)
	for i := range alone {
		alone[i] = true
	}
	for _, g := range o.Groups {
		for _, entry := range g.Entries {
			alone[entry] = false
		}
	}
	return alone
}

// ScaleDownOptions are the arguments of ScaleDown in addition to the pod.
type ScaleDownOptions struct {
	Profile *api.Profile
	// Selector selects the replicas among the pods of the pod's namespace; nil for the pod's labels.
	Selector *api.LabelSelector
	// Replicas is the number of replicas to keep.
	Replicas int
}

// MaxDeletions bounds the deletions of one call of ScaleDown.
const MaxDeletions = scaledown.MaxDeletions

// ScaleDown selects the replicas of a workload to delete. The pod is one of them. It selects one replica at a time,
// with the remaining ones in place. The criteria, in order: the fewest other replicas that its deletion causes to be
// rejected where they are; the most plugins that reject it; the lowest score by the pod's own rules; the domain with
// the most replicas; the node with the most replicas; the lowest total score. If more than MaxDeletions replicas have
// to go, ScaleDown deletes none.
func (c *Cluster) ScaleDown(ctx context.Context, pod *api.Pod, o ScaleDownOptions) (*verdict.ScaleDown, error) {
	out, err := scaledown.Run(ctx, c.framework(o.Profile), cluster.NewState(ctx, c.compiled), pod, scaledown.Options{
		Selector: o.Selector, Replicas: o.Replicas,
	})
	if err != nil {
		return nil, err
	}
	out.Doubts = doubt.OfPod(o.Profile, pod, false, nil) // replicas have their devices
	return out, nil
}
