package cluster

import (
	"iter"
	"math"

	"github.com/stowage-scheduler/stowage/engine/api"
)

// Terminate marks pods of a node as terminating: they stay on it, and count as terminating pods do. It returns what Leave takes.
// queue is as in Assume. If the request ends meanwhile, only some of the pods are marked.
func (s *State) Terminate(node uint32, o *Occupant, queue int) []Terminating {
	shape := s.Group(o.Group).in(podStates - 1)
	template := &api.PodTemplate{Namespace: s.Symbols.Name(shape.Namespace), Spec: api.PodSpec{Priority: o.Priority}}
	p := &Pending{Pod: &api.Pod{Name: o.Name, Template: template, Terminating: true}, Shape: shape, usage: *o.usage, group: -1}
	started := int64(0)
	switch never := &template.Spec.NeverPreempts; {
	case o.place < 0:
		*never = s.neverAt(asTemplate, int32(o.Group))
	case o.Queue < 0:
		named := &s.row(node).named[o.place]
		started, *never = named.startTime(), s.neverAt(named.load, int32(o.Group))
	default:
		a := &s.assumed[o.place]
		started, *never = a.started, a.pod.Spec().NeverPreempts
	}
	claims := s.heldBy(o)
	s.evict(node, o)
	out := make([]Terminating, o.Count)
	for i := range out {
		if i%1024 == 1023 && s.Ended() {
			return out[:i]
		}
		out[i] = Terminating{node, Occupant{
			Name: o.Name, Count: 1, Priority: o.Priority, Queue: queue, usage: &p.usage, place: int32(len(s.assumed)),
		}}
		s.come(p, o.Name, node, queue) // a pod that leaves binds no claims
		s.assumed[out[i].pod.place].started = started
		out[i].pod.Group = p.group
	}
	if len(claims) > 0 && len(out) > 0 {
		s.hold(int(out[0].pod.place), claims...)
	}
	return out
}

// Terminating is a pod that Terminate marked.
type Terminating struct {
	node uint32
	pod  Occupant
}

// Leave evicts pods that terminate, unless they are evicted already: the last one first, so that each is the last one of its
// group. If the request ends meanwhile, some of them stay.
func (s *State) Leave(pods []Terminating) {
	for i := len(pods) - 1; i >= 0; i-- {
		if i%1024 == 1023 && s.Ended() {
			return
		}
		if t := &pods[i]; !s.assumed[t.pod.place].evicted {
			s.Evict(t.node, &t.pod)
		}
	}
}

// EvictedSince iterates over the pods that were evicted after a mark, with their nodes.
func (s *State) EvictedSince(m Mark) iter.Seq2[uint32, *Occupant] {
	return func(yield func(uint32, *Occupant) bool) {
		for i := m.evicted; i < len(s.evicted); i++ {
			if !yield(s.evicted[i].node, &s.evicted[i].Occupant) {
				return
			}
		}
	}
}

// Assumed returns the number of pods that the request assumed, evicted ones included.
func (s *State) Assumed() int { return len(s.assumed) }

// PlacedSince iterates over the pods that were assumed after a mark and not evicted, in their order: the node, and the number of
// the queue entry.
func (s *State) PlacedSince(m Mark) iter.Seq2[uint32, int] {
	return func(yield func(uint32, int) bool) {
		for i := m.assumed; i < len(s.assumed); i++ {
			if a := &s.assumed[i]; !a.evicted && !yield(a.node, a.queue) {
				return
			}
		}
	}
}

// EndQueue ends a queue that was placed after a mark, so that another queue can be placed. Its pods have started one after the
// other, later than the pods of the cluster. Its nominations end. Its sets of occupied ports are dropped, so every port that a pod
// holds counts as occupied again. Its pods join the pod groups that they name, as pods of the cluster do, because the next queue
// uses the same entry numbers for other pods.
func (s *State) EndQueue(since Mark) {
	nominations, occupied, entryGroup, joined, whole := s.nominations, s.occupied, s.entryGroup, s.joined, s.whole
	s.nominations, s.occupied, s.entryGroup, s.joined, s.whole = nil, nil, nil, nil, false
	placed := s.assumed[since.assumed:]
	started := make([]int64, len(placed))
	for i := range placed {
		started[i], placed[i].started = placed[i].started, placedFrom+int64(since.assumed+i)
	}
	s.note(func() {
		s.nominations, s.occupied, s.entryGroup, s.joined, s.whole = nominations, occupied, entryGroup, joined, whole
		for i := range started {
			s.assumed[since.assumed+i].started = started[i]
		}
	})
}

// placedFrom is the start time of the first pod that a request placed, in nanoseconds. It leaves 2^32 start times, which is more
// than the number of pods that a request can place.
const placedFrom = math.MaxInt64 - 1<<32

// PodKind is what the outcome for pods follows from when their node is drained.
type PodKind struct {
	Group int
	Traits
}

// KindsOn iterates over the kinds of pods on a node, with numbers of pods. A kind may come several times.
func (c *Cluster) KindsOn(node uint32) iter.Seq2[PodKind, int] {
	return func(yield func(PodKind, int) bool) {
		r := c.row(node)
		for _, p := range r.pods {
			if c.groups.get(int(p.group)).Template >= 0 && !yield(PodKind{int(p.group), c.traitsAt(asTemplate, p.group)}, int(p.count)) {
				return
			}
		}
		for i := range r.named {
			p := &r.named[i]
			if c.groups.get(int(p.Group)).Template < 0 && !yield(PodKind{int(p.Group), c.traitsAt(p.load, p.Group)}, 1) {
				return
			}
		}
	}
}

// Controller returns the kind of the controller of pods of the cluster.
func (c *Cluster) Controller(node uint32, o *Occupant) api.WorkloadKind {
	return c.Traits(node, o).Controller
}

// Traits returns the traits of pods of the cluster.
func (c *Cluster) Traits(node uint32, o *Occupant) Traits {
	if o.place < 0 {
		return c.traitsAt(asTemplate, int32(o.Group))
	}
	return c.traitsAt(c.row(node).named[o.place].load, int32(o.Group))
}
