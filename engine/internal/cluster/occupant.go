package cluster

import (
	"slices"

	"github.com/stowage-scheduler/stowage/engine/api"
	"github.com/stowage-scheduler/stowage/engine/verdict"
)

// Occupant is equal pods on a node.
type Occupant struct {
	Group    int
	Name     string // empty for counted pods
	Count    int
	Priority int32
	// Queue is the index of an assumed pod's queue entry, -1 for existing pods.
	Queue int

	usage *Usage
	place int32 // index in State.assumed or row.named; -1 for counted pods
}

// Same reports whether two occupants of one node are parts of one.
func (o *Occupant) Same(other *Occupant) bool {
	return o.Group == other.Group && o.place == other.place
}

// namedPod identifies a named pod of the cluster.
type namedPod struct {
	node  uint32
	place int32 // index in row.named
}

// Uses returns the amount of a resource that one of these pods occupies, as Usage.Of.
func (o *Occupant) Uses(resource string) int64 {
	return o.usage.Of(resource)
}

// Occupants returns the pods on a node: counted pods by group, then named ones, then assumed ones, each in the order of the
// request.
func (s *State) Occupants(node uint32) []Occupant {
	counted, named, assumed := s.occupants(node, anyGroup)
	return append(append(counted, named...), assumed...)
}

const anyGroup = -1

func (s *State) occupants(node uint32, group int) (counted, named, assumed []Occupant) {
	row := s.row(node)
	for i := range row.named {
		p := &row.named[i]
		if group != anyGroup && int(p.Group) != group || s.gone[namedPod{node, int32(i)}] {
			continue
		}
		usage, priority := s.loadAt(p.load, p.Group)
		named = append(named, Occupant{
			Group: int(p.Group), Name: p.Name, Count: 1, Priority: priority, Queue: -1, usage: usage, place: int32(i),
		})
	}
	for _, p := range row.pods {
		if group != anyGroup && int(p.group) != group {
			continue
		}
		count := int(p.count)
		if s.recounted != nil {
			count = s.Group(int(p.group)).On(node)
		}
		for i := range named {
			if named[i].Group == int(p.group) {
				count--
			}
		}
		if count > 0 {
			usage, priority := s.loadAt(asTemplate, p.group)
			counted = append(counted, Occupant{
				Group: int(p.group), Count: count, Priority: priority, Queue: -1, usage: usage, place: -1,
			})
		}
	}
	for _, i := range s.assumedOn(node) {
		a := &s.assumed[i]
		if (group == anyGroup || a.pod.group == group) && !a.evicted {
			assumed = append(assumed, Occupant{
				Group: a.pod.group, Name: a.name, Count: 1, Priority: a.pod.Spec().Priority, Queue: a.queue, usage: &a.pod.usage, place: i,
			})
		}
	}
	return counted, named, assumed
}

// assumedOn returns the indexes of the pods assumed on a node.
func (s *State) assumedOn(node uint32) []int32 {
	if s.byNode == nil {
		s.byNode = make(map[uint32][]int32)
		for i := range s.assumed {
			n := s.assumed[i].node
			s.byNode[n] = append(s.byNode[n], int32(i))
		}
	}
	return s.byNode[node]
}

// PodReference describes pods on a node.
func (s *State) PodReference(node uint32, o *Occupant) verdict.PodReference {
	g := s.Group(o.Group)
	return verdict.PodReference{
		Namespace: s.Symbols.Name(g.Namespace), Name: shown(o.Name), Node: node, Count: o.Count, Template: g.Template, Queue: o.Queue,
	}
}

// Unread returns the unread fields of pods of the cluster. They must not be changed.
func (s *State) Unread(node uint32, o *Occupant) []api.UnreadField {
	if o.Queue >= 0 || o.place < 0 {
		return nil
	}
	return s.row(node).named[o.place].unreadFields()
}

// TemplateOf returns the template of pods; nil for pods of the cluster that have templates of their own.
func (s *State) TemplateOf(o *Occupant) *api.PodTemplate {
	if o.Queue >= 0 {
		return s.assumed[o.place].pod.Template
	}
	if t := s.Group(o.Group).Template; t >= 0 {
		return s.templates.get(t).source
	}
	return nil
}

// ConflictingPods returns the pods of a group on a node, in at most limit entries: named ones, then counted ones as one
// entry, then assumed ones.
func (s *State) ConflictingPods(node uint32, group, limit int) []verdict.PodReference {
	counted, named, assumed := s.occupants(node, group)
	occupants := slices.Concat(named, counted, assumed)
	out := make([]verdict.PodReference, min(limit, len(occupants)))
	for i := range out {
		out[i] = s.PodReference(node, &occupants[i])
	}
	return out
}
