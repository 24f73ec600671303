package drain

import (
	"slices"

	"github.com/stowage-scheduler/stowage/engine/internal/cluster"
	"github.com/stowage-scheduler/stowage/engine/internal/place"
	"github.com/stowage-scheduler/stowage/engine/internal/queue"
	"github.com/stowage-scheduler/stowage/engine/verdict"
)

// schedule places the pending pods as kube-scheduler's queue does. Pods that they preempt do not come back. A preempted pod uses
// up its budgets, and nominations end with the round, as does what the queue knows about ports (cluster.State.LeavePorts).
func (r *run) schedule() error {
	if len(r.pending) == 0 {
		return nil
	}
	entries, preempts := make([]place.Pending, len(r.pending)), make([]bool, len(r.pending))
	first := len(r.origins)
	for i := range r.pending {
		b := &r.pending[i]
		entries[i], preempts[i] = place.Pending{Pod: *b.fate.created.Pod, Count: b.count}, true
		r.origins = append(r.origins, origin{fate: b.fate})
	}
	options := place.Options{Seed: r.Seed, FewestPods: r.FewestPods, Scan: r.Scan, Preempt: preempts, KeepLabels: true}
	q, err := place.New(r.ctx, r.framework, r.state, r.Targets, entries, options)
	if err != nil {
		return err
	}
	q.Offset = first
	mark := r.state.Mark()
	if _, err := queue.Place(r.ctx, q, nil, queue.Options{}); err != nil {
		return err
	}
	r.state.EndQueue(mark)
	still := r.pending[:0]
	for i := range q.Placements {
		b, result := r.pending[i], &q.Placements[i]
		r.moved(&b, first+i, result.Nodes)
		r.lost += result.Evicted
		if b.count = result.Unplaced; b.count > 0 {
			b.message = result.Message
			still = append(still, b)
		}
	}
	r.pending = still
	for node, o := range r.state.EvictedSince(mark) {
		if r.ctx.Err() != nil { // a pod that came back is searched for
			return r.ctx.Err()
		}
		r.preempted(node, o, first)
	}
	return nil
}

// preempted records that pods were preempted. first is the first entry of the current queue.
func (r *run) preempted(node uint32, o *cluster.Occupant, first int) {
	var budgets []int32
	idle := false // the pod was not healthy
	switch {
	case o.Queue < 0:
		idle = unhealthy(r.state.Group(o.Group).Readiness)
		budgets = r.base.Budgets().Evicting(r.state.Group(o.Group))
	case r.origins[o.Queue].leaving:
		return
	case o.Queue < first: // the others were not ready yet
		budgets = r.origins[o.Queue].fate.budgets
		if o.Queue >= r.began {
			r.unmove(node, o)
		}
	}
	for _, b := range budgets {
		if r.budgets[b].left > 0 && !idle {
			r.spend(b, -1, 0)
		}
	}
	if _, drained := slices.BinarySearch(r.out.Nodes, node); drained {
		for _, u := range r.units {
			if u.node == node && u.Same(o) {
				u.Count -= min(u.Count, o.Count)
			}
		}
	}
	r.out.Preempted = appendPods(r.out.Preempted, r.describe(node, o))
}

// appendPods appends pods, or counts them with the last ones if these are equal and none has a name.
func appendPods(list []verdict.PodReference, pods verdict.PodReference) []verdict.PodReference {
	if n := len(list); n > 0 && pods.Name == "" {
		last := list[n-1]
		if last.Count = pods.Count; last == pods {
			list[n-1].Count += pods.Count
			return list
		}
	}
	return append(list, pods)
}

// unmove takes back that a pod was placed in an earlier round.
func (r *run) unmove(node uint32, o *cluster.Occupant) {
	r.out.Placed--
	r.lost++
	for i := range r.out.Moves {
		m := &r.out.Moves[i]
		if r.moves[i] != o.Queue {
			continue
		}
		at := slices.Index(m.Nodes, node)
		if m.Pod.Count--; m.Pod.Count == 0 {
			r.out.Moves, r.moves = slices.Delete(r.out.Moves, i, i+1), slices.Delete(r.moves, i, i+1)
		} else {
			m.Nodes = slices.Delete(m.Nodes, at, at+1)
		}
		return
	}
}
