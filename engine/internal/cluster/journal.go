package cluster

import (
	"slices"

	"github.com/stowage-scheduler/stowage/engine/internal/nodeset"
)

// Mark is a point in a state's journal: the numbers of pods assumed and evicted, and of other changes, before it.
type Mark struct{ assumed, evicted, noted int }

// journal is what a state changed, in order, and what follows from that.
type journal struct {
	assumed []assumed
	evicted []eviction
	noted   []note

	byNode    map[uint32][]int32      // indexes in assumed by node; nil until needed
	recounted []*[PageNodes]recounted // by group of the cluster, in pages; nil before the first eviction
	gone      map[namedPod]bool       // evicted named pods
	// occupied are the sets of LeavePorts by node.
	occupied map[uint32]occupied
}

// assumed is an assumed pod.
type assumed struct {
	pod     *Pending
	name    string
	queue   int
	node    uint32
	place   int32 // index in the group's Assumed when it was assumed
	evicted bool
	started int64 // as NamedPod.startTime
}

// eviction is equal pods that were evicted from a node.
type eviction struct {
	Occupant
	node  uint32
	at    int32 // index in the group's Nodes or Assumed
	after int32 // number of pods assumed before
}

// note is a change that is about no pod's place: what takes it back, and the pods assumed and evicted before.
type note struct {
	undo func()
	at   Mark
}

// recounted is the counts of a group of the cluster while some of its pods are evicted.
type recounted struct {
	counts  []int32
	evicted int
}

// Mark returns the current point in the journal.
func (s *State) Mark() Mark { return Mark{len(s.assumed), len(s.evicted), len(s.noted)} }

// note adds a change to the journal, with what takes it back.
func (s *State) note(undo func()) { s.noted = append(s.noted, note{undo, s.Mark()}) }

// Touched returns the nodes with pods that are assumed or evicted.
func (s *State) Touched() nodeset.Set {
	nodes := nodeset.New(s.Len())
	for i := range s.assumed {
		nodes.Add(s.assumed[i].node)
	}
	for i := range s.evicted {
		nodes.Add(s.evicted[i].node)
	}
	return nodes
}

// changed reports whether any pod is assumed or evicted.
func (s *State) changed() bool { return len(s.assumed)+len(s.evicted) > 0 }

// Assume counts a pod of a queue entry on a node, and binds its claims.
func (s *State) Assume(p *Pending, name string, node uint32, queue int) {
	s.come(p, name, node, queue)
	s.bindVolumes(p, node)
	s.grantDevices(p, node)
}

// come is Assume for a pod that binds nothing.
func (s *State) come(p *Pending, name string, node uint32, queue int) {
	s.OwnResources()
	g := s.groups.edit(s.Expect(p))
	if s.byNode != nil {
		s.byNode[node] = append(s.byNode[node], int32(len(s.assumed)))
	}
	s.assumed = append(s.assumed, assumed{pod: p, name: name, queue: queue, node: node, place: int32(len(g.Assumed))})
	g.Assumed = append(g.Assumed, node)
	s.move(Move{Group: int32(p.group), Node: node, Pods: 1, frees: p.Frees()})
	s.Resources.add(node, &p.usage, 1)
	s.settle(p.Namespace, name, 1)
	if p.Nomination != nil {
		p.Nomination.assumed++
	}
	s.enterPorts(node, p)
	s.volumesCome(p.Volumes, node, 1)
}

// Evict removes o.Count pods from a node.
func (s *State) Evict(node uint32, o *Occupant) {
	claims := s.heldBy(o)
	s.evict(node, o)
	s.release(claims)
}

// evict is Evict for pods that keep their claims.
func (s *State) evict(node uint32, o *Occupant) {
	s.OwnResources()
	if s.recounted == nil {
		s.recounted, s.gone = make([]*[PageNodes]recounted, len(s.Cluster.groups.pages)), make(map[namedPod]bool)
	}
	g := s.groups.edit(o.Group)
	e := eviction{Occupant: *o, node: node, after: int32(len(s.assumed))}
	if o.Queue >= 0 {
		s.assumed[o.place].evicted = true
		e.at = g.removeAssumed(node, s.assumed[o.place].place)
	} else {
		at, _ := slices.BinarySearch(g.Nodes, node)
		e.at = int32(at)
		s.recount(&e, -o.Count)
		if o.place >= 0 {
			s.gone[namedPod{node, o.place}] = true
		}
	}
	s.move(Move{Group: int32(o.Group), Node: node, Pods: -int32(o.Count)})
	s.Resources.add(node, o.usage, -int64(o.Count))
	s.volumesCome(g.Volumes, node, -int64(o.Count))
	s.evicted = append(s.evicted, e)
}

// EvictVictim removes v.Count pods from a node.
func (s *State) EvictVictim(node uint32, v *Victim) {
	o := s.VictimOccupant(node, v)
	s.Evict(node, &o)
}

// Undo reverts all changes of the state after a mark. Groups and strings that they added stay.
func (s *State) Undo(to Mark) {
	for i := len(s.noted) - 1; i >= to.noted; i-- {
		n := &s.noted[i]
		s.bringBack(n.at)
		n.undo()
	}
	s.noted = s.noted[:to.noted]
	s.bringBack(to)
}

// bringBack reverts the assumptions and evictions after a mark.
func (s *State) bringBack(to Mark) {
	for i := len(s.evicted) - 1; i >= to.evicted; i-- {
		e := &s.evicted[i]
		s.forget(int(e.after))
		if e.Queue >= 0 {
			s.assumed[e.place].evicted = false
			s.groups.edit(e.Group).insertAssumed(e.node, e.at)
		} else {
			s.recount(e, e.Count)
			delete(s.gone, namedPod{e.node, e.place})
		}
		s.unmove()
		s.Resources.add(e.node, e.usage, int64(e.Count))
		s.volumesCome(s.Group(e.Group).Volumes, e.node, int64(e.Count))
	}
	s.evicted = s.evicted[:to.evicted]
	s.forget(to.assumed)
}

// forget removes all assumed pods after the first n. None of them is evicted.
func (s *State) forget(n int) {
	for i := len(s.assumed) - 1; i >= n; i-- {
		a := &s.assumed[i]
		g := s.groups.edit(a.pod.group)
		g.Assumed = g.Assumed[:len(g.Assumed)-1]
		s.unmove()
		s.Resources.add(a.node, &a.pod.usage, -1)
		s.volumesCome(a.pod.Volumes, a.node, -1)
		s.settle(a.pod.Namespace, a.name, -1)
		if a.pod.Nomination != nil {
			a.pod.Nomination.assumed--
		}
		if s.byNode != nil {
			on := s.byNode[a.node]
			s.byNode[a.node] = on[:len(on)-1]
		}
	}
	s.assumed = s.assumed[:n]
}

// recount adds pods to the count of an evicted pod's group on its node. The group keeps nodes whose count becomes 0.
func (s *State) recount(e *eviction, pods int) {
	g, page := s.groups.edit(e.Group), &s.recounted[e.Group/PageNodes]
	if *page == nil {
		*page = new([PageNodes]recounted)
	}
	own := &(*page)[e.Group%PageNodes]
	if own.counts == nil {
		own.counts = slices.Clone(g.AllCounts())
	}
	own.counts[e.at] += int32(pods)
	own.evicted -= pods
	if g.Counts = own.counts; own.evicted == 0 {
		g.Counts = s.Cluster.groups.get(e.Group).Counts
	}
}

// removeAssumed removes an assumed pod from a node and returns its index in Assumed. place is the index when the pod was
// assumed.
func (g *Group) removeAssumed(node uint32, place int32) int32 {
	if int(place) >= len(g.Assumed) || g.Assumed[place] != node { // another pod's removal has moved it
		place = int32(slices.Index(g.Assumed, node))
	}
	last := len(g.Assumed) - 1
	g.Assumed[place] = g.Assumed[last]
	g.Assumed = g.Assumed[:last]
	return place
}

// insertAssumed undoes removeAssumed.
func (g *Group) insertAssumed(node uint32, place int32) {
	g.Assumed = append(g.Assumed, node)
	last := len(g.Assumed) - 1
	g.Assumed[place], g.Assumed[last] = node, g.Assumed[place]
}
