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

// State is one request's view of a cluster, with a journal of the pods that the request assumes and evicts. It is for one
// goroutine at a time.
type State struct {
	*Cluster
	// ctx ends the request. Long loops check it. The results of unfinished loops are never returned.
	ctx context.Context
	// Symbols is the strings of the cluster and the request.
	Symbols *intern.Table
	// Resources are the cluster's until OwnResources is called or a pod is assumed or evicted.
	Resources *Resources

	ownPods
	moves
	journal
	nominating
	memberships
	bindings bindings
	// devicesOf is what the request allocated.
	devicesOf devicesOf
	// attachedBy is what is attached by driver, for drivers that a pod depends on.
	attachedBy map[string]*Attached
	// brought are the pods of Bring.
	brought []broughtPods
	// Scores is memory that scores of one pod after the other are in.
	Scores []int64
	// unnumbered is set while no image is known to be on any node.
	unnumbered bool
	// explained is the remaining cost of explanations, in the unit of verdict.MaxExplained.
	explained int
}

// ownPods are the groups of the cluster and the groups that the request adds.
type ownPods struct {
	groups list[Group]
	ports  []int
	// volumeGroups are the groups with claims or disks.
	volumeGroups []int
	added        map[intern.ID]int          // groups that the request added, by shape
	addedBy      map[selector.Label][]int32 // the groups of added behind the first ones, by label
	// These are the terms of the groups that the request added.
	addedAntiAffinity, addedWishes terms
}

// NewState returns a state without assumed or evicted pods.
func NewState(ctx context.Context, c *Cluster) *State {
	return &State{
		Cluster:   c,
		ctx:       ctx,
		explained: verdict.MaxExplained,
		Symbols:   intern.Extend(c.symbols),
		Resources: c.resources,
		moves:     moves{base: c},
		ownPods:   ownPods{groups: c.groups.shared(), ports: c.ports, volumeGroups: slices.Clip(c.volumeGroups)},
	}
}

// Mutate makes the state one that kube-scheduler mutates to preempt for a pod group, until that is undone: images count on no node,
// because their numbers of nodes get lost when a snapshot of the cache is copied
// (pkg/scheduler/backend/cache/snapshot.go StartMutations, v1.37).
func (s *State) Mutate() {
	before := s.unnumbered
	s.unnumbered = true
	s.note(func() {
		s.unnumbered = before
		s.unmove()
	})
	s.move(Move{Group: Renewed})
}

// ImagesCount reports whether images count where they are.
func (s *State) ImagesCount() bool { return !s.unnumbered }

// Groups iterates over the groups of pods, the cluster's groups first, until the request ends.
func (s *State) Groups() iter.Seq2[int, *Group] {
	return func(yield func(int, *Group) bool) {
		for i := range s.groupCount() {
			if i < s.Cluster.groups.len() && s.Group(i).empty() {
				continue
			}
			if i%1024 == 0 && s.Ended() || !yield(i, s.Group(i)) {
				return
			}
		}
	}
}

// Ended reports whether the request has ended.
func (s *State) Ended() bool { return s.ctx.Err() != nil }

// Explain subtracts the cost of a part of an explanation from the request's budget, and reports whether the budget
// suffices.
func (s *State) Explain(cost int) bool {
	s.explained -= cost
	return s.explained >= 0
}

// Group returns a group.
func (s *State) Group(i int) *Group { return s.groups.get(i) }

// groupCount returns the number of groups, including groups added by the request.
func (s *State) groupCount() int { return s.groups.len() }

// WithPorts iterates over the groups whose pods have host ports, until the request ends.
func (s *State) WithPorts() iter.Seq2[int, *Group] { return s.groupsAt(s.ports) }

// groupsAt iterates over groups by their indexes, until the request ends.
func (s *State) groupsAt(groups []int) iter.Seq2[int, *Group] {
	return func(yield func(int, *Group) bool) {
		for n, i := range groups {
			if n%1024 == 0 && s.Ended() || !yield(i, s.Group(i)) {
				return
			}
		}
	}
}

// NamespaceLabels returns the labels of a namespace, none for an unknown one.
func (s *State) NamespaceLabels(name intern.ID) selector.Labels { return s.byName[name] }

// Column returns the topology column of a key.
func (s *State) Column(key intern.ID) *topology.Column {
	if key >= s.strings {
		return s.nowhere()
	}
	return s.domains.Get(key, func() (*topology.Column, int64, bool) {
		if c := s.buildColumn(key); !c.Having.Empty() {
			return c, c.Bytes(), true
		}
		return s.nowhere(), 0, true
	})
}

// noKey is no key of a label.
const noKey = ^intern.ID(0)

// nowhere returns the column that all keys share that no node has.
func (c *Cluster) nowhere() *topology.Column {
	return c.domains.Get(noKey, func() (*topology.Column, int64, bool) {
		column := topology.Nowhere(c.Len())
		return column, column.Bytes(), true
	})
}

// Counts returns the number of pods, including assumed ones, that a term of an incoming pod matches, by domain of the
// term's topology key. The result must not be changed.
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

// Occupied returns the nodes in domains with pods that a term of an incoming pod matches, nil for none.
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
	for d, n := range s.Counts(t) { // which the memo keeps for other calls
		if d != topology.None && n > 0 {
			table[d], found = 1, true
		}
	}
	if !found {
		return nil
	}
	return column.Where(table)
}

// Matching returns the pods that a term of an incoming pod matches.
func (s *State) Matching(t *Term) []topology.Members {
	var members []topology.Members
	for _, g := range s.Selectable(t.Selector) {
		if t.Matches(g.Namespace, nil, g.Labels) {
			members = append(members, g.Members)
		}
	}
	return members
}

// Expect returns the group of a pending pod. It adds a missing group, so that rules count it from the start.
func (s *State) Expect(p *Pending) int {
	if p.group < 0 {
		p.group = s.groupOf(p.Shape)
	}
	return p.group
}

// Added returns the range of the groups that the request added: the first index, and the one behind the last.
func (s *State) Added() (first, last int) { return s.Cluster.groups.len(), s.groupCount() }

// Identity returns an id of the pod's shape. Equal ids imply equal shapes.
func (s *State) Identity(p *Pending) intern.ID { return p.Shape.identity(s.Symbols, -1) }

// OwnResources copies the resources of the cluster. Columns that are taken afterwards include the pods that the request
// assumes.
func (s *State) OwnResources() {
	if s.Resources == s.Cluster.resources {
		s.Resources = s.Resources.clone()
	}
}

// groupOf returns the request's own group of a shape. The cluster may have a group of that shape, too: two groups count
// like one.
func (s *State) groupOf(shape *Shape) int {
	id := shape.identity(s.Symbols, -1)
	if i, ok := s.added[id]; ok {
		return i
	}
	if s.added == nil {
		s.added = make(map[intern.ID]int)
	}
	i := s.groups.len()
	s.added[id] = i
	s.groups.append(Group{Shape: shape, Template: -1})
	s.index(i, shape)
	s.addedAntiAffinity.addAntiAffinity(i, shape)
	s.addedWishes.addWishes(i, shape)
	if len(shape.HostPorts) > 0 {
		s.ports = append(slices.Clip(s.ports), i)
	}
	if len(shape.Volumes) > 0 {
		s.volumeGroups = append(s.volumeGroups, i)
	}
	return i
}
