package cluster

import (
	"cmp"
	"context"
	"slices"

	"github.com/stowage-scheduler/stowage/engine/api"
	"github.com/stowage-scheduler/stowage/engine/internal/intern"
	"github.com/stowage-scheduler/stowage/engine/internal/nodeset"
)

// podGroups are the pod groups of a cluster.
type podGroups struct {
	list  []api.PodGroup
	index map[intern.ID]int // by name
	of    []*Membership
	whole bool // whether any group is evicted only as a whole
}

// noPodGroup is no pod group.
const noPodGroup = ^intern.ID(0)

func (g *podGroups) add(t *intern.Table, group api.PodGroup) {
	if g.index == nil {
		g.index = make(map[intern.ID]int)
	}
	g.index[t.Intern(group.Name)] = len(g.list)
	g.list = append(g.list, group)
	g.of = append(g.of, MembershipOf(&group))
	g.whole = g.whole || group.DisruptAll
}

// PodGroup returns the group of the cluster with a name.
func (c *Cluster) PodGroup(name string) (*api.PodGroup, bool) {
	id, known := c.symbols.Lookup(name)
	if !known {
		return nil, false
	}
	i, known := c.podGroups.index[id]
	if !known {
		return nil, false
	}
	return &c.podGroups.list[i], true
}

// PodGroupOf returns the name of the group of a template's pods, empty for none.
func PodGroupOf(t *api.PodTemplate) string {
	if t.Spec.SchedulingGroup == "" {
		return ""
	}
	return t.Namespace + "/" + t.Spec.SchedulingGroup
}

func podGroupOf(t *intern.Table, template *api.PodTemplate) intern.ID {
	if name := PodGroupOf(template); name != "" {
		return t.Intern(name)
	}
	return noPodGroup
}

// memberships are the pod groups of the request.
type memberships struct {
	// entryGroup is what JoinEntries got.
	entryGroup func(entry int) (m *Membership, known bool)
	joined     map[intern.ID]*Membership // by name
	whole      bool                      // whether any of joined is evicted only as a whole
	membersOf  map[intern.ID][]int32     // groups of the cluster by name of their pod group; nil until needed
}

// Membership is what preemption reads of the pod group of a pod. Pods of one group share it.
type Membership struct {
	// Priority is the group's, which counts instead of the pod's; nil for none.
	Priority *int32
	// All reports whether the pods of the group can be evicted only all together.
	All bool
}

// MembershipOf returns what preemption reads of a group.
func MembershipOf(g *api.PodGroup) *Membership {
	return &Membership{Priority: g.Priority, All: g.DisruptAll}
}

// absent is the membership of pods whose group the cluster lacks: it has no priority, and they are evicted one by one
// (pkg/scheduler/framework/preemption/types.go getHighestAllAncestor, NewPodVictim, v1.37).
var absent = &Membership{}

// Join makes a group of the request replace the cluster's group of the same name.
func (s *State) Join(name string, m *Membership) {
	whole := s.whole
	s.whole = s.whole || m.All
	s.note(func() { s.whole = whole })
	if id, known := s.Symbols.Lookup(name); known {
		if s.joined == nil {
			s.joined = make(map[intern.ID]*Membership)
		}
		of, before := s.joined, s.joined[id]
		of[id] = m
		s.note(func() { of[id] = before }) // nil is as good as none
	}
}

// JoinEntries takes a function that returns the pod group of a queue entry, whose assumed pods are in it, nil for none, and whether it
// knows the entry. Pods of other entries are in the groups that they name.
func (s *State) JoinEntries(of func(entry int) (m *Membership, known bool)) {
	before := s.entryGroup
	s.entryGroup = of
	s.note(func() { s.entryGroup = before })
}

// Original returns a state of the cluster before the request, with the pod groups of s.
func (s *State) Original(ctx context.Context) *State {
	o := NewState(ctx, s.Cluster)
	o.joined, o.whole = s.joined, s.whole
	return o
}

// Membership returns the group membership of a pod on a node; nil for a pod in no group.
func (s *State) Membership(v *Victim) *Membership {
	if e := s.QueueOf(v); e >= 0 && s.entryGroup != nil {
		if m, known := s.entryGroup(e); known {
			return m
		}
	}
	return s.membershipOf(s.Group(int(v.Group)).PodGroup)
}

// membershipOf returns the membership shared by the pods of a named pod group.
func (s *State) membershipOf(key intern.ID) *Membership {
	if key == noPodGroup {
		return nil
	}
	if m := s.joined[key]; m != nil {
		return m
	}
	if i, known := s.podGroups.index[key]; known {
		return s.podGroups.of[i]
	}
	return absent
}

// WholeGroups returns the nodes with pods that are evicted only together with the others of their pod group; nil if there are no such
// groups.
func (s *State) WholeGroups() nodeset.Set {
	if !s.whole && !s.podGroups.whole {
		return nil
	}
	nodes := nodeset.New(s.Len())
	for _, g := range s.Groups() {
		if m := s.membershipOf(g.PodGroup); m == nil || !m.All {
			continue
		}
		for node := range g.All() {
			nodes.Add(node)
		}
	}
	if s.entryGroup != nil {
		for i := range s.assumed {
			if m, _ := s.entryGroup(s.assumed[i].queue); m != nil && m.All {
				nodes.Add(s.assumed[i].node)
			}
		}
	}
	return nodes
}

// Member is equal pods of a pod group on a node.
type Member struct {
	Namespace, Name string // the name is empty for counted pods
	Node            uint32
	Count           int
	Priority        int32
	NeverPreempts   bool
}

// CountMembers returns the number of pods of members.
func CountMembers(members []Member) (pods int) {
	for i := range members {
		pods += members[i].Count
	}
	return pods
}

// Members returns the pods of a pod group on nodes, by node and name, pods without names last: the cluster's pods that were not
// evicted, and the first pods that the request assumed. assumed is their number, an earlier result of Assumed.
func (s *State) Members(name string, assumed int) []Member {
	id, known := s.Symbols.Lookup(name)
	if !known {
		return nil
	}
	if s.membersOf == nil {
		s.membersOf = make(map[intern.ID][]int32)
		for i := range s.Cluster.groups.len() {
			if key := s.Cluster.groups.get(i).PodGroup; key != noPodGroup && !s.Cluster.groups.get(i).empty() {
				s.membersOf[key] = append(s.membersOf[key], int32(i))
			}
		}
	}
	var members []Member
	for _, group := range s.membersOf[id] {
		g := s.Group(int(group))
		for i, node := range g.Nodes {
			members = s.membersOn(members, node, group, g.Count(i))
		}
	}
	for i := range s.assumed[:assumed] {
		if a := &s.assumed[i]; !a.evicted && s.Group(a.pod.group).PodGroup == id {
			spec := a.pod.Spec()
			members = append(members, Member{a.pod.Template.Namespace, a.name, a.node, 1, spec.Priority, spec.NeverPreempts})
		}
	}
	unnamed := func(m *Member) int {
		if m.Name == "" {
			return 1
		}
		return 0
	}
	slices.SortStableFunc(members, func(a, b Member) int {
		return cmp.Or(cmp.Compare(a.Node, b.Node), cmp.Compare(unnamed(&a), unnamed(&b)), cmp.Compare(a.Name, b.Name))
	})
	return members
}

// membersOn appends a number of pods of a group on a node.
func (s *State) membersOn(members []Member, node uint32, group int32, count int) []Member {
	namespace := s.Symbols.Name(s.Group(int(group)).Namespace)
	row := s.row(node)
	for i := range row.named {
		p := &row.named[i]
		if p.Group != group || s.gone[namedPod{node, int32(i)}] {
			continue
		}
		_, priority := s.loadAt(p.load, group)
		members = append(members, Member{namespace, p.Name, node, 1, priority, s.neverAt(p.load, group)})
		count--
	}
	if count > 0 {
		_, priority := s.loadAt(asTemplate, group)
		members = append(members, Member{namespace, "", node, count, priority, s.neverAt(asTemplate, group)})
	}
	return members
}
