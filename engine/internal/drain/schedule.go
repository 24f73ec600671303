package drain

import (
	"slices"

	"github.com/stowage-scheduler/stowage/engine/internal/cluster"
	"github.com/stowage-scheduler/stowage/engine/internal/place"
	"github.com/stowage-scheduler/stowage/engine/internal/queue"
	"github.com/stowage-scheduler/stowage/engine/verdict"
)

// attemptQueue places the pending pods by one run of kube-scheduler's queue, and returns the preempted pods that come back. A
// preempted pod uses up its budgets. Nominations end with the run, and so does the queue's knowledge of ports
// (cluster.State.LeavePorts).
func (r *run) attemptQueue() (again []batch, err error) {
	entries, preempts := make([]place.Pending, len(r.pending)), make([]bool, len(r.pending))
	first := len(r.origins)
	for i := range r.pending {
		b := &r.pending[i]
		entries[i], preempts[i] = place.Pending{Pod: *b.fate.created.Pod, Count: b.count}, true
		r.origins = append(r.origins, origin{fate: b.fate, placed: new(*b)})
	}
	options := place.Options{Seed: r.Seed, FewestPods: r.FewestPods, Scan: r.Scan, Preempt: preempts, KeepLabels: true}
	q, err := place.New(r.ctx, r.framework, r.state, r.Targets, entries, options)
	if err != nil {
		return nil, err
	}
	q.Offset = first
	mark := r.state.Mark()
	groups := r.groupsAmong()
	o := queue.Options{Profile: r.framework.Configured(), Groups: groups, Results: make([]verdict.PodGroupPlacement, len(groups))}
	if _, err := queue.Place(r.ctx, q, nil, o); err != nil {
		return nil, err
	}
	r.state.EndQueue(mark)
	still := r.pending[:0]
	for i := range q.Placements {
		b, result := r.pending[i], &q.Placements[i]
		r.moved(&b, first+i, result.Nodes)
		evicted := b
		if b.count = result.Unplaced; b.count > 0 {
			b.message, b.undecided = result.Message, false
			still = append(still, b)
		}
		if evicted.count = result.Evicted; evicted.count > 0 {
			again = append(again, evicted)
		}
	}
	r.pending = still
	for node, o := range r.state.EvictedSince(mark) {
		if r.ctx.Err() != nil { // a pod that came back is searched for
			return nil, r.ctx.Err()
		}
		one := *o
		one.Count = 1 // each pod uses up budgets of its own
		for range o.Count {
			if b, ok := r.preempted(node, &one, first); ok {
				again = appendBatch(again, &b)
			}
		}
	}
	return again, nil
}

// preempted records that pods were preempted. first is the first entry of the current run of the queue. ok reports whether they come
// back as a batch; pods of the current run come back by their entry.
func (r *run) preempted(node uint32, o *cluster.Occupant, first int) (again batch, ok bool) {
	var budgets []int32
	idle := false // the pod was not healthy
	switch {
	case o.Queue < 0:
		idle = unhealthy(r.state.Group(o.Group).Readiness)
		budgets = r.base.Budgets().Evicting(r.state.Group(o.Group))
	case r.origins[o.Queue].leaving:
		return batch{}, false
	case o.Queue >= r.began && o.Queue < first:
		again, ok = *r.origins[o.Queue].placed, true
		again.count = o.Count
		r.unmove(node, o)
		if o.Queue < r.roundBegan {
			budgets = r.origins[o.Queue].fate.budgets
		} else { // not ready yet
			r.unready(o.Queue)
		}
	case o.Queue < first:
		budgets = r.origins[o.Queue].fate.budgets
	}
	var owed []int32
	for _, b := range budgets {
		if r.budgets[b].left > 0 && !idle {
			r.spend(b, -1, 0)
			owed = append(owed, b)
		}
	}
	switch {
	case ok && o.Queue < r.roundBegan: // was ready
		again.preempted, again.owed = true, owed
	case !ok && o.Queue < first:
		again, ok = r.comesAgain(node, o, owed)
	}
	if _, drained := slices.BinarySearch(r.out.Nodes, node); drained {
		for _, u := range r.units {
			if u.node == node && u.Same(o) {
				u.Count -= min(u.Count, o.Count)
			}
		}
	}
	pods := r.describe(node, o)
	r.out.Preempted = verdict.AppendPods(r.out.Preempted, pods)
	if !ok && o.Queue < first {
		r.gone = verdict.AppendPods(r.gone, pods)
	}
	return again, ok
}

// appendBatch appends a batch, or counts it with the last one if both are of one unit and are alike.
func appendBatch(list []batch, b *batch) []batch {
	if n := len(list); n > 0 {
		last := &list[n-1]
		if last.unit == b.unit && last.round == b.round && last.spent == b.spent && last.preempted == b.preempted && slices.Equal(last.owed, b.owed) {
			last.count += b.count
			return list
		}
	}
	return append(list, *b)
}

// unmove takes back that a pod was placed in an earlier round.
func (r *run) unmove(node uint32, o *cluster.Occupant) {
	r.out.Placed--
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
