package cluster

import (
	"context"
	"iter"
	"slices"

	"github.com/stowage-scheduler/stowage/engine/internal/intern"
	"github.com/stowage-scheduler/stowage/engine/internal/nodeset"
	"github.com/stowage-scheduler/stowage/engine/internal/selector"
	"github.com/stowage-scheduler/stowage/engine/internal/topology"
	"github.com/stowage-scheduler/stowage/engine/verdict"
)

// State is one request's view of a cluster, with a journal of the pods that the request assumes and evicts. It is used by
// one goroutine at a time.
type State struct {
	*Cluster
	// ctx ends the request. Long loops look at it; what they leave unfinished when it has ended is never answered.
	ctx context.Context
	// Symbols extends the cluster's strings by those of the request.
	Symbols *intern.Table
	// Resources are the cluster's until a pod is assumed or evicted, or OwnResources is called.
	Resources *Resources

	groups []Group // the cluster's until ownGroups is called
	ports  []int
	added  map[intern.ID]int // groups that the request added, by shape
	// antiAffinity and wishes are the terms of the groups that the request added.
	antiAffinity, wishes terms

	assumed []assumed
	evicted []eviction
	// What follows from the journal: the places of the assumed pods by node, nil until needed; and of evicted pods, nil
	// before the first, the cluster's groups and which of the named ones they are.
	byNode    map[uint32][]int32
	recounted []recounted
	gone      map[namedPod]bool
	// explained is what explanations may still cost, in the unit of verdict.MaxExplained.
	explained int
}

// NewState returns a state in which nothing has been placed.
func NewState(ctx context.Context, c *Cluster) *State {
	return &State{
		Cluster:   c,
		ctx:       ctx,
		explained: verdict.MaxExplained,
		Symbols:   intern.Extend(c.symbols),
		Resources: c.resources,
		groups:    c.groups,
		ports:     c.ports,
	}
}

// Groups iterates over the groups of pods, those of the cluster first, until the request ends.
func (s *State) Groups() iter.Seq2[int, *Group] {
	return func(yield func(int, *Group) bool) {
		for i := range s.groups {
			if i < len(s.Cluster.groups) && s.groups[i].empty() {
				continue
			}
			if i%1024 == 0 && s.Ended() || !yield(i, &s.groups[i]) {
				return
			}
		}
	}
}

// Ended reports whether the request has ended, so that nobody waits for an answer.
func (s *State) Ended() bool { return s.ctx.Err() != nil }

// Explain takes the cost of a part of an explanation from what the request may still explain, and reports whether that
// was enough.
func (s *State) Explain(cost int) bool {
	s.explained -= cost
	return s.explained >= 0
}

// Group returns a group.
func (s *State) Group(i int) *Group { return &s.groups[i] }

// PortGroups returns the groups whose pods have host ports.
func (s *State) PortGroups() []int { return s.ports }

// NamespaceLabels returns a namespace's labels, none if nobody has heard of it.
func (s *State) NamespaceLabels(name intern.ID) selector.Labels { return s.byName[name] }

// Column returns the topology column of a key.
func (s *State) Column(key intern.ID) *topology.Column {
	if !s.Symbols.Shared(key) {
		return topology.Nowhere(s.Len())
	}
	return s.columns.Get(key, func() (*topology.Column, int64, bool) {
		c := s.buildColumn(key)
		return c, c.Bytes(), true
	})
}

// Counts returns how many pods per domain of a term's topology key the cluster has that the term matches as an
// incoming pod's, the assumed ones included. The result must not be changed.
func (s *State) Counts(t *Term) []int64 {
	count := func() []int64 { return topology.Count(s.Column(t.TopologyKey), s.Matching(t), nil) }
	if s.changed() || !t.shared(s.Symbols) {
		return count()
	}
	key := string(t.appendKey(nil))
	return s.counts.Get(key, func() ([]int64, int64, bool) {
		counts := count()
		return counts, int64(len(key) + 8*cap(counts)), s.ctx.Err() == nil
	})
}

// Occupied returns the nodes in domains with pods that the term matches as an incoming pod's, nil if there are none.
func (s *State) Occupied(t *Term) nodeset.Set {
	column := s.Column(t.TopologyKey)
	members := s.Matching(t)
	entries := 0
	for i := range members {
		entries += members[i].Len()
	}
	if s.changed() || entries <= s.Len() || !t.shared(s.Symbols) {
		return column.Inhabited(members)
	}
	table, found := make([]uint8, column.Len()), false
	for d, n := range s.Counts(t) { // so that the counts are there for others
		if d != topology.None && n > 0 {
			table[d], found = 1, true
		}
	}
	if !found {
		return nil
	}
	return column.Where(table)
}

// Matching returns the pods that a term matches as an incoming pod's.
func (s *State) Matching(t *Term) []topology.Members {
	var members []topology.Members
	for _, g := range s.Selectable(t.Selector) {
		if t.Matches(g.Namespace, nil, g.Labels) {
			members = append(members, g.Members)
		}
	}
	return members
}

// Expect returns the group that pods to come of a shape will be in, so that who counts knows it before it has any.
func (s *State) Expect(p *Pending) int {
	if p.group < 0 {
		p.group = s.groupOf(p.Shape)
	}
	return p.group
}

// Added returns the indexes of the groups that the request added, from the first to before the last.
func (s *State) Added() (first, last int) { return len(s.Cluster.groups), len(s.groups) }

// Identity returns what the shapes of two pods have in common only if they are the same.
func (s *State) Identity(p *Pending) intern.ID { return p.Shape.identity(s.Symbols, -1) }

// OwnResources makes the resources the state's own: columns of them that are taken afterwards show what is assumed.
func (s *State) OwnResources() {
	if s.Resources == s.Cluster.resources {
		s.Resources = s.Resources.clone()
	}
}

// groupOf returns a group of the request's own for a shape. Whether the cluster has a group of that shape does not
// matter: two groups count like one.
func (s *State) groupOf(shape *Shape) int {
	s.ownGroups()
	id := shape.identity(s.Symbols, -1)
	if i, ok := s.added[id]; ok {
		return i
	}
	i := len(s.groups)
	s.added[id] = i
	s.groups = append(s.groups, Group{Shape: shape, Template: -1})
	s.antiAffinity.addAntiAffinity(i, shape)
	s.wishes.addWishes(i, shape)
	if len(shape.HostPorts) > 0 {
		s.ports = append(slices.Clip(s.ports), i)
	}
	return i
}
