// Package safe finds preemption after which all victims that come back have a node. kube-scheduler does not check where its victims
// could run (kubernetes#141227).
package safe

import (
	"cmp"
	"container/heap"
	"context"
	"slices"

	"github.com/stowage-scheduler/stowage/engine/api"
	"github.com/stowage-scheduler/stowage/engine/internal/cluster"
	"github.com/stowage-scheduler/stowage/engine/internal/decide"
	"github.com/stowage-scheduler/stowage/engine/internal/doubt"
	"github.com/stowage-scheduler/stowage/engine/internal/nodeset"
	"github.com/stowage-scheduler/stowage/engine/internal/place"
	"github.com/stowage-scheduler/stowage/engine/internal/preempt"
	"github.com/stowage-scheduler/stowage/engine/verdict"
)

// maxReturning bounds the pods that come back for one candidate.
const maxReturning = 100_000

// Options are the bounds of the search.
type Options struct {
	// Cascades is how often in a row a pod that comes back may preempt others.
	Cascades int
	// Candidates is the number of candidates that are examined.
	Candidates int
	// Preempt are the options of the preemption of the pod itself.
	Preempt preempt.Options
}

// Find examines the candidates of a pod, the best first, until one of them is safe. A candidate whose victims have no node is
// examined again with these pods staying where they are. The first of the choices is the nominated one.
func Find(ctx context.Context, d *decide.Decision, choices []*preempt.Choice, o Options) (*verdict.SafePreemption, error) {
	slices.SortFunc(choices, (*preempt.Choice).Compare)
	all, out := nodeset.Full(d.State.Len()), &verdict.SafePreemption{}
	stays := make(map[uint32]map[preempt.Spot]bool)
	for len(choices) > 0 {
		if out.Examined == o.Candidates {
			out.Truncated = true
			break
		}
		c := choices[0]
		choices = choices[1:]
		out.Examined++
		t := trial{Decision: d, all: all, cascades: o.Cascades, room: maxReturning, doubts: doubt.NewLedger(d.Profile)}
		if err := t.run(ctx, c); err != nil {
			return nil, err
		}
		unsafe := slices.DeleteFunc(slices.Clone(t.replacements), func(r verdict.Replacement) bool { return r.Unplaced == 0 })
		if out.Examined == 1 {
			out.Unsafe, out.InVain, out.Doubts = unsafe, t.inVain, t.doubts.Doubts()
		}
		out.Truncated = out.Truncated || t.room < 0
		if len(unsafe) == 0 && t.inVain == "" {
			out.Candidate, out.Replacements = &c.Candidate, t.replacements
			break
		}
		if len(t.stuck) == 0 {
			continue
		}
		if stays[c.Node] == nil {
			stays[c.Node] = make(map[preempt.Spot]bool)
		}
		for _, id := range t.stuck {
			stays[c.Node][id] = true
		}
		again, err := preempt.With(ctx, d, c.Node, stays[c.Node], o.Preempt)
		if err != nil {
			return nil, err
		}
		if again != nil {
			at, _ := slices.BinarySearchFunc(choices, again, (*preempt.Choice).Compare)
			choices = slices.Insert(choices, at, again)
		}
	}
	return out, ctx.Err()
}

// trial is the outcome for the victims of one candidate.
type trial struct {
	*decide.Decision
	all      nodeset.Set
	cascades int
	room     int // for more pods that come back; negative if some are left out

	pending      queue
	queued       int // how many ever were in pending
	replacements []verdict.Replacement
	stuck        []preempt.Spot // victims of the candidate whose replacements have no node
	inVain       string
	doubts       *doubt.Ledger
}

// returning is equal victims that come back.
type returning struct {
	cluster.Victim
	created cluster.Replacement
	node    uint32
	cascade int
	order   int
}

// queue is a heap of pods that come back: pods of higher priority first, then pods that left first.
type queue []returning

func (q queue) Len() int      { return len(q) }
func (q queue) Swap(i, j int) { q[i], q[j] = q[j], q[i] }
func (q queue) Less(i, j int) bool {
	return cmp.Or(cmp.Compare(q[j].Priority, q[i].Priority), cmp.Compare(q[i].cascade, q[j].cascade),
		cmp.Compare(q[i].order, q[j].order)) < 0
}

func (q *queue) Push(r any) { *q = append(*q, r.(returning)) }

func (q *queue) Pop() any {
	last := len(*q) - 1
	r := (*q)[last]
	*q = (*q)[:last]
	return r
}

// run evicts the victims of a candidate, puts the pod on its node, and places what comes back, pods of higher priority first.
// It undoes all of that.
func (t *trial) run(ctx context.Context, c *preempt.Choice) error {
	mark := t.State.Mark()
	defer t.State.Undo(mark)
	t.queue(t.evict(c, 0))
	on := nodeset.Of(t.State.Len(), []uint32{c.Node})
	outcome, err := decide.New(t.Framework, t.State, t.Pod).FilterAll(ctx, on)
	if err != nil {
		return err
	}
	if outcome.Feasible.Empty() {
		t.inVain = outcome.Message
	}
	t.State.Assume(t.Pod, t.Pod.Name, c.Node, 0)
	for len(t.pending) > 0 {
		if err := ctx.Err(); err != nil {
			return err
		}
		v := heap.Pop(&t.pending).(returning)
		if err := t.replace(ctx, &v); err != nil {
			return err
		}
	}
	return ctx.Err()
}

// evict evicts the victims of a candidate, and returns the victims that come back, or may come back.
func (t *trial) evict(c *preempt.Choice, cascade int) (back []returning) {
	c.EachVictim(func(v *preempt.VictimOn) {
		if created := t.State.Replacement(&v.Victim); created.Pod != nil || created.Unknown {
			back = append(back, returning{Victim: v.Victim, created: created, node: v.Node, cascade: cascade})
		}
	})
	c.Evict(t.State)
	return back
}

func (t *trial) queue(back []returning) {
	for _, r := range back {
		r.order = t.queued
		t.queued++
		heap.Push(&t.pending, r)
	}
}

// replace places what the controller of a victim creates.
func (t *trial) replace(ctx context.Context, v *returning) error {
	created := &v.created
	r := verdict.Replacement{Pod: t.State.VictimReference(v.node, &v.Victim), Cascade: v.cascade, Unknown: created.Unknown}
	if created.Pod != nil && t.doubt(v, r.Pod) {
		r.Unknown = true
	}
	if t.room -= int(v.Count); r.Unknown || t.room < 0 {
		r.Unplaced = int(v.Count)
	} else {
		nodes := t.all
		if created.Own {
			nodes = nodeset.Of(t.State.Len(), []uint32{v.node})
		}
		if err := t.place(ctx, created.Pod, nodes, int(v.Count), v.cascade, &r); err != nil {
			return err
		}
		t.doubts.Searched(t.State.Undecided(), created.Pod, r.Pod)
	}
	if r.Unplaced > 0 && v.cascade == 0 {
		t.stuck = append(t.stuck, preempt.Spot{Node: v.node, VictimID: v.ID()})
	}
	t.replacements = append(t.replacements, r)
	return nil
}

// doubt adds the doubts about what the controller of a victim creates, and reports whether there are any.
func (t *trial) doubt(v *returning, victim verdict.PodReference) bool {
	again, before := *v.created.Pod, len(t.doubts.Doubts())
	again.Unread = t.State.VictimUnread(v.node, &v.Victim)
	t.doubts.Pod(&again, victim)
	return len(t.doubts.Doubts()) > before
}

// place places a number of equal pods. As long as cascades are left, a pod without a feasible node preempts as kube-scheduler
// lets it. All pods that this request placed have its priority or a higher one, so none of them is evicted.
func (t *trial) place(ctx context.Context, pod *api.Pod, nodes nodeset.Set, count, cascade int, r *verdict.Replacement) error {
	for count > 0 {
		q, err := place.New(ctx, t.Framework, t.State, nodes, []place.Pending{{Pod: *pod, Count: count}}, place.Options{KeepLabels: true})
		if err != nil {
			return err
		}
		result := &q.Placements[0]
		if err := q.Place(ctx, 0, count, result, nil); err != nil {
			return err
		}
		r.Nodes = append(r.Nodes, result.Nodes...)
		if count = result.Unplaced; count == 0 {
			break
		}
		r.Message = result.Message
		if cascade == t.cascades || result.Failed {
			break
		}
		d := q.Decision(q.Classes[0])
		c, err := preempt.Best(ctx, d, nodes, result.Rejections)
		if err != nil {
			return err
		}
		if c == nil {
			break
		}
		mark := t.State.Mark()
		back := t.evict(c, cascade+1)
		outcome, err := decide.New(t.Framework, t.State, d.Pod).FilterAll(ctx, nodeset.Of(t.State.Len(), []uint32{c.Node}))
		if err != nil {
			return err
		}
		if outcome.Feasible.Empty() {
			t.State.Undo(mark)
			break
		}
		t.queue(back)
		t.State.Assume(d.Pod, "", c.Node, 0)
		r.Nodes, r.Evicted = append(r.Nodes, c.Node), append(r.Evicted, c.Victims...)
		count--
	}
	if r.Unplaced = count; count == 0 {
		r.Message = ""
	}
	return nil
}
