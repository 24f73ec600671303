package queue

import (
	"math"
	"slices"

	"github.com/stowage-scheduler/stowage/engine/internal/cluster"
	"github.com/stowage-scheduler/stowage/engine/internal/preempt"
	"github.com/stowage-scheduler/stowage/engine/verdict"
)

// preempt evicts the victims of a pod or of a pod group with a priority, ends lower nominations to its node if it has one, and lets
// the pods come back.
func (q *queue) preempt(e verdict.Eviction, victims []preempt.VictimOn, priority int32, node uint32, known bool) error {
	left, err := q.evict(e, victims)
	if err != nil {
		return err
	}
	if known && !left.stay() {
		if err := q.outrank(priority, node); err != nil {
			return err
		}
	}
	if err := q.wakeAll(left); err != nil {
		return err
	}
	q.comeBack()
	return nil
}

// evict lets the victims of a pod or of a pod group leave. After an error, which ends the queue, the answer has all of them left, and
// the state some.
func (q *queue) evict(e verdict.Eviction, victims []preempt.VictimOn) (left departures, err error) {
	q.evictions = append(q.evictions, e)
	var nodes []uint32
	on := make(map[uint32][]cluster.Victim)
	for _, v := range victims {
		if on[v.Node] == nil {
			nodes = append(nodes, v.Node)
		}
		on[v.Node] = append(on[v.Node], v.Victim)
		if at, assumed := v.Assumed(); assumed && at >= q.before {
			at -= q.before
			q.placed[at].evicted = true
			q.entries[q.placed[at].entry].evicted++
		}
		left.add(q.State.Group(int(v.Group)).Shape, math.MaxInt32)
	}
	if err := q.leaves(victims); err != nil {
		return left, err
	}
	for _, node := range nodes {
		q.State.LeavePorts(node, on[node])
		// The memories forget the node, and with it its occupied ports. Nothing is searched for meanwhile.
		q.changes = append(q.changes, node)
	}
	for i := range victims {
		if i%16 == 15 && q.ctx.Err() != nil { // an assumed pod is searched for
			return left, q.ctx.Err()
		}
		q.State.EvictVictim(victims[i].Node, &victims[i].Victim)
	}
	q.changed = true
	q.Evicted()
	return left, q.ctx.Err()
}

// departures are pods that left, or lost their nomination, by shape: the others are alike to all that wait.
type departures struct {
	shapes []*cluster.Shape
	most   map[*cluster.Shape]int32 // highest priority of the pods that they wake
}

// stay reports whether all of them were terminating, so that kube-scheduler does nothing to make them leave
// (pkg/scheduler/framework/preemption/executor.go prepareCandidateAsync, v1.37).
func (d *departures) stay() bool {
	return !slices.ContainsFunc(d.shapes, func(s *cluster.Shape) bool { return !s.Terminating })
}

func (d *departures) add(s *cluster.Shape, most int32) {
	before, known := d.most[s]
	if !known {
		if d.shapes = append(d.shapes, s); d.most == nil {
			d.most = make(map[*cluster.Shape]int32)
		}
		before = most
	}
	d.most[s] = max(before, most)
}
