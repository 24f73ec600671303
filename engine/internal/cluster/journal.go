package cluster

import (
	"slices"

	"github.com/stowage-scheduler/stowage/engine/internal/intern"
)

// Mark is a point in a state's journal, which is the pods that came to nodes (assumed) and those that left them (evicted),
// each in order.
type Mark struct{ assumed, evicted int }

// assumed is a pod that the request placed.
type assumed struct {
	pod     *Pending
	name    string
	queue   int
	node    uint32
	place   int32 // where node was added to the group's Assumed
	evicted bool
}

// eviction is pods that left a node.
type eviction struct {
	Occupant
	node  uint32
	at    int32 // in the group's Nodes or Assumed
	after int32 // so many pods were assumed
}

// recounted is a group of the cluster whose counts are the state's own while any of its pods is evicted.
type recounted struct {
	counts  []int32
	evicted int
}

// Mark returns the point in the journal to undo to.
func (s *State) Mark() Mark { return Mark{len(s.assumed), len(s.evicted)} }

// changed reports whether other pods are on the nodes than the cluster has.
func (s *State) changed() bool { return s.Mark() != (Mark{}) }

// Assume counts a pod of a queue entry on a node from now on.
func (s *State) Assume(p *Pending, name string, node uint32, queue int) {
	s.OwnResources()
	g := &s.groups[s.Expect(p)]
	if s.byNode != nil {
		s.byNode[node] = append(s.byNode[node], int32(len(s.assumed)))
	}
	s.assumed = append(s.assumed, assumed{pod: p, name: name, queue: queue, node: node, place: int32(len(g.Assumed))})
	g.Assumed = append(g.Assumed, node)
	s.Resources.add(node, &p.usage, 1)
}

// Evict takes Count pods of a node away.
func (s *State) Evict(node uint32, o *Occupant) {
	s.OwnResources()
	s.ownGroups()
	if s.recounted == nil {
		s.recounted, s.gone = make([]recounted, len(s.Cluster.groups)), make(map[namedPod]bool)
	}
	g := &s.groups[o.Group]
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
	s.Resources.add(node, o.usage, -int64(o.Count))
	s.evicted = append(s.evicted, e)
}

// Undo takes back what was assumed and evicted after a mark. Groups and strings that came with it stay.
func (s *State) Undo(to Mark) {
	for i := len(s.evicted) - 1; i >= to.evicted; i-- {
		e := &s.evicted[i]
		s.forget(int(e.after))
		if e.Queue >= 0 {
			s.assumed[e.place].evicted = false
			s.groups[e.Group].insertAssumed(e.node, e.at)
		} else {
			s.recount(e, e.Count)
			delete(s.gone, namedPod{e.node, e.place})
		}
		s.Resources.add(e.node, e.usage, int64(e.Count))
	}
	s.evicted = s.evicted[:to.evicted]
	s.forget(to.assumed)
}

// forget takes back the pods that were assumed after the first n, of which none is evicted.
func (s *State) forget(n int) {
	for i := len(s.assumed) - 1; i >= n; i-- {
		a := &s.assumed[i]
		g := &s.groups[a.pod.group]
		g.Assumed = g.Assumed[:len(g.Assumed)-1]
		s.Resources.add(a.node, &a.pod.usage, -1)
		if s.byNode != nil {
			on := s.byNode[a.node]
			s.byNode[a.node] = on[:len(on)-1]
		}
	}
	s.assumed = s.assumed[:n]
}

// recount adds to the count of an evicted pod's group on its node. Nodes stay the cluster's, even those without pods left.
func (s *State) recount(e *eviction, pods int) {
	g := &s.groups[e.Group]
	own := &s.recounted[e.Group]
	if own.counts == nil {
		own.counts = slices.Clone(g.AllCounts())
	}
	own.counts[e.at] += int32(pods)
	own.evicted -= pods
	if g.Counts = own.counts; own.evicted == 0 {
		g.Counts = s.Cluster.groups[e.Group].Counts
	}
}

// removeAssumed removes an assumed pod on a node, which was added at a place, and returns where it was.
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

// ownGroups makes the groups the state's own, so that their members may change.
func (s *State) ownGroups() {
	if s.added == nil {
		s.groups = slices.Clone(s.groups)
		s.added = make(map[intern.ID]int)
	}
}
