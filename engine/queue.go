package engine

import (
	"context"
	"errors"
	"slices"

	"github.com/stowage-scheduler/stowage/engine/internal/change"
	"github.com/stowage-scheduler/stowage/engine/internal/cluster"
	"github.com/stowage-scheduler/stowage/engine/internal/doubt"
	"github.com/stowage-scheduler/stowage/engine/internal/place"
	"github.com/stowage-scheduler/stowage/engine/internal/queue"
	"github.com/stowage-scheduler/stowage/engine/verdict"
)

// schedule is Place with PlaceOptions.Scheduler.
func (c *Cluster) schedule(ctx context.Context, pending []Pending, o *PlaceOptions) (*verdict.Place, error) {
	state := cluster.NewState(ctx, c.compiled)
	pending, nominated := withoutNominations(state, pending)
	preempts := make([]bool, len(pending))
	for i := range preempts {
		preempts[i] = true
	}
	q, err := place.New(ctx, c.framework(o.Profile), state, c.candidates(o.Candidates), pending, place.Options{
		Seed: o.Seed, FewestPods: o.FewestPods, Preempt: preempts, Scan: o.Scan, Tuning: o.tuning, KeepLabels: o.returns != nil,
	})
	q.Explainer = change.Find
	groups := make([]verdict.PodGroupPlacement, len(o.Groups))
	evictions, failed := queue.Place(ctx, q, nominated, queue.Options{
		Explain: o.Explain, Changes: o.Changes, Preempt: o.Preempt, Groups: o.Groups, Results: groups, Profile: o.Profile, Returns: o.returns,
	})
	result := &verdict.Place{Placements: q.Placements, Evictions: evictions, Groups: groups, Bindings: q.State.ClaimBindings(), Devices: q.State.PodDevices()}
	result.Doubts = doubt.OfQueue(o.Profile, pending, o.Groups, q.State.Undecided())
	if o.returns != nil {
		o.returns.Undecided = q.State.Undecided()
	}
	if err == nil {
		err = failed
	}
	if errors.Is(err, context.DeadlineExceeded) && o.Partial {
		result.Partial, err = true, nil
	}
	if err != nil {
		return nil, err
	}
	return result, watch(result, o.Groups, o.Watch)
}

// withoutNominations returns a queue whose pods are not nominated, and the nodes that they are nominated to, by entry, nil if
// none is. The cluster does not nominate them any more either.
func withoutNominations(s *cluster.State, pending []Pending) (without []Pending, nominated []string) {
	states := s.AnyNominated()
	for i := range pending {
		pod := &pending[i].Pod
		if states {
			s.Supersede(pod.Template.Namespace, pod.Name)
		}
		if pod.NominatedNode != "" && nominated == nil {
			without, nominated = slices.Clone(pending), make([]string, len(pending))
		}
		if nominated != nil {
			nominated[i], without[i].Pod.NominatedNode = pod.NominatedNode, ""
		}
	}
	if nominated == nil {
		return pending, nil
	}
	return without, nominated
}

// watch passes a result to a watcher, a group with all of its entries in the place of the first. Entries with unattempted pods are
// not done.
func watch(result *verdict.Place, groups []PodGroup, w Watcher) error {
	if w == nil {
		return nil
	}
	evicted := 0
	for i := range result.Placements {
		evicted += result.Placements[i].Evicted
	}
	if err := w.Evicted(result.Evictions, evicted); err != nil {
		return err
	}
	of := make(map[int]int) // group by entry
	for i := range groups {
		for _, e := range groups[i].Entries {
			of[e] = i
		}
		if len(groups[i].Entries) == 0 {
			if err := w.Group(i, &result.Groups[i]); err != nil {
				return err
			}
		}
	}
	for i := range result.Placements {
		g, grouped := of[i]
		switch {
		case !grouped:
			if err := watchEntry(result, i, w); err != nil {
				return err
			}
		case groups[g].Entries[0] == i:
			for _, e := range groups[g].Entries {
				if err := watchEntry(result, e, w); err != nil {
					return err
				}
			}
			if result.Groups[g].Status != verdict.GroupUnattempted {
				if err := w.Group(g, &result.Groups[g]); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

func watchEntry(result *verdict.Place, entry int, w Watcher) error {
	p := &result.Placements[entry]
	for _, node := range p.Nodes {
		if err := w.Placed(entry, node); err != nil {
			return err
		}
	}
	if p.Unattempted > 0 {
		return nil
	}
	return w.Entry(entry, p)
}
