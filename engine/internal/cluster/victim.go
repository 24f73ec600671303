package cluster

import (
	"cmp"
	"math"
	"slices"

	"github.com/stowage-scheduler/stowage/engine/api"
	"github.com/stowage-scheduler/stowage/engine/verdict"
)

// Victim is equal pods of a node that another pod may preempt.
type Victim struct {
	Usage    *Usage
	started  int64 // math.MaxInt64 if unknown
	Group    int32
	Priority int32
	Count    int32
	order    int32 // in the order of Victims
	place    int32 // index in row.named; counted, or assumedPlace of the index in State.assumed
	grouped  bool  // in a pod group
}

// counted is the place of counted pods.
const counted = -1

// assumedPlace returns the place of an assumed pod, or the index of the pod at such a place.
func assumedPlace(i int32) int32 { return -2 - i }

// Started returns the start time in nanoseconds; math.MaxInt64 if there is none.
func (v *Victim) Started() int64 { return v.started }

// Assumed returns how many pods the request had assumed before the victim, and whether it assumed the victim at all.
func (v *Victim) Assumed() (int, bool) { return int(assumedPlace(v.place)), v.place < counted }

// CompareImportance orders the pods of a node, the most important first: by priority, then pods in a pod group, then the pod that
// started earlier (pkg/scheduler/framework/preemption/util.go MoreImportantVictim, v1.37), then the pod listed earlier.
func CompareImportance(a, b Victim) int {
	x, y := a.importance(), b.importance()
	return x.compare(&y)
}

// Sorter sorts victims. It keeps its memory.
type Sorter struct {
	keys   []importance
	sorted []Victim
}

// importance is what CompareImportance compares, in less memory. The rank is the priority, and whether it is in a pod group.
type importance struct {
	started, rank int64
	order         int32
}

func (v *Victim) importance() importance {
	rank := 2 * int64(v.Priority)
	if v.grouped {
		rank++
	}
	return importance{v.started, rank, v.order}
}

func (a *importance) compare(b *importance) int {
	switch {
	case a.rank != b.rank:
		return cmp.Compare(b.rank, a.rank)
	case a.started != b.started:
		return cmp.Compare(a.started, b.started)
	}
	return cmp.Compare(a.order, b.order)
}

// fewVictims is the number up to which insertion is the fastest way to sort.
const fewVictims = 64

// Sort returns the result of Victims for one node in the order of CompareImportance. The next call takes the memory of the
// argument.
func (s *Sorter) Sort(victims []Victim) []Victim {
	if len(victims) > fewVictims {
		slices.SortFunc(victims, CompareImportance)
		return victims
	}
	s.keys = s.keys[:0]
	for i := range victims {
		key, at := victims[i].importance(), len(s.keys)
		s.keys = append(s.keys, key)
		for ; at > 0 && key.compare(&s.keys[at-1]) < 0; at-- {
			s.keys[at] = s.keys[at-1]
		}
		s.keys[at] = key
	}
	s.sorted = s.sorted[:0]
	for i := range s.keys {
		s.sorted = append(s.sorted, victims[s.keys[i].order])
	}
	s.sorted, victims = victims, s.sorted
	return victims
}

// Same reports whether two victims are parts of one entry of Victims.
func (v *Victim) Same(other *Victim) bool { return v.order == other.order }

// Victims appends the pods of a node with a priority below a given one to victims: counted ones, then named ones, then
// assumed ones, each in the order of the request.
func (s *State) Victims(victims []Victim, node uint32, below int32) []Victim {
	return s.victims(victims, node, int64(below))
}

// AllVictims is Victims whatever their priority.
func (s *State) AllVictims(victims []Victim, node uint32) []Victim {
	return s.victims(victims, node, math.MaxInt64)
}

func (s *State) victims(victims []Victim, node uint32, below int64) []Victim {
	row := s.row(node)
	first, order := len(victims), int32(0)
	add := func(v Victim) {
		if v.started == 0 {
			v.started = math.MaxInt64
		}
		if of := s.Membership(&v); of != nil {
			if v.grouped = true; of.Priority != nil {
				v.Priority = *of.Priority
			}
		}
		if int64(v.Priority) >= below {
			return
		}
		v.order = order
		order++
		victims = append(victims, v)
	}
	if s.anyCounted(row) {
		var named map[int32]int32 // by group
		if len(row.named) > 0 {
			named = make(map[int32]int32, len(row.named))
		}
		for i := range row.named {
			if !s.gone[namedPod{node, int32(i)}] {
				named[row.named[i].Group]++
			}
		}
		for _, p := range row.pods {
			count := p.count
			if s.recounted != nil {
				count = int32(s.Group(int(p.group)).On(node))
			}
			if count -= named[p.group]; count <= 0 {
				continue
			}
			usage, priority := s.loadAt(asTemplate, p.group)
			add(Victim{Usage: usage, Group: p.group, Priority: priority, Count: count, place: counted})
		}
	}
	for i := range row.named {
		p := &row.named[i]
		usage, priority := s.loadAt(p.load, p.Group)
		if s.gone == nil || !s.gone[namedPod{node, int32(i)}] {
			add(Victim{Usage: usage, started: p.startTime(), Group: p.Group, Priority: priority, Count: 1, place: int32(i)})
		}
	}
	if len(s.assumed) == 0 {
		return victims
	}
	for _, i := range s.assumedOn(node) {
		if a := &s.assumed[i]; !a.evicted {
			add(Victim{
				Usage: &a.pod.usage, started: a.started, Group: int32(a.pod.group), Priority: a.pod.Spec().Priority, Count: 1,
				place: assumedPlace(i),
			})
		}
	}
	return victims[:first+int(order)]
}

// anyCounted reports whether a node has pods without names, or had some before the request evicted pods.
func (s *State) anyCounted(r *row) bool {
	all := -int64(len(r.named))
	for _, p := range r.pods {
		all += int64(p.count)
	}
	return all > 0
}

// VictimName returns the name of a victim, empty for counted pods.
func (s *State) VictimName(node uint32, v *Victim) string {
	switch {
	case v.place >= 0:
		return s.row(node).named[v.place].Name
	case v.place == counted:
		return ""
	}
	return s.assumed[assumedPlace(v.place)].name
}

// VictimReference describes victims.
func (s *State) VictimReference(node uint32, v *Victim) verdict.PodReference {
	o := s.VictimOccupant(node, v)
	return s.PodReference(node, &o)
}

// VictimOccupant returns victims in the form in which they are evicted.
func (s *State) VictimOccupant(node uint32, v *Victim) Occupant {
	o := Occupant{
		Group: int(v.Group), Name: s.VictimName(node, v), Count: int(v.Count), Queue: -1,
		usage: v.Usage, place: v.place,
	}
	o.Priority, _ = s.Apart(node, v)
	if v.place < counted {
		o.place = assumedPlace(v.place)
		o.Queue = s.assumed[o.place].queue
	}
	return o
}

// VictimUnread returns the unread fields of a victim. They must not be changed.
func (s *State) VictimUnread(node uint32, v *Victim) []api.UnreadField {
	if v.place < 0 {
		return nil
	}
	return s.row(node).named[v.place].unreadFields()
}

// VictimID distinguishes the victim entries of one node, and stays valid whatever the request assumes and evicts.
type VictimID struct{ group, place int32 }

// ID returns the victim's id.
func (v *Victim) ID() VictimID { return VictimID{v.Group, v.place} }

// Preempted reports whether kube-scheduler has preempted a victim.
func (s *State) Preempted(node uint32, v *Victim) bool {
	return v.place >= 0 && s.row(node).named[v.place].preempted()
}

// QueueOf returns the queue entry of a victim that the request assumed, -1 for another one.
func (s *State) QueueOf(v *Victim) int {
	if i, assumed := v.Assumed(); assumed {
		return s.assumed[i].queue
	}
	return -1
}

// Apart reports whether a victim has another priority than its pod group, and returns it.
func (s *State) Apart(node uint32, v *Victim) (priority int32, apart bool) {
	if !v.grouped {
		return v.Priority, false
	}
	switch {
	case v.place >= 0:
		_, priority = s.loadAt(s.row(node).named[v.place].load, v.Group)
	case v.place == counted:
		_, priority = s.loadAt(asTemplate, v.Group)
	default:
		priority = s.assumed[assumedPlace(v.place)].pod.Spec().Priority
	}
	return priority, priority != v.Priority
}

// AnyPreempted reports whether kube-scheduler has preempted a pod of a node whose priority, or whose pod group's priority, is below
// a given one.
func (s *State) AnyPreempted(node uint32, below int32) bool {
	row := s.row(node)
	for i := range row.named {
		p := &row.named[i]
		if !p.preempted() || s.gone[namedPod{node, int32(i)}] {
			continue
		}
		_, priority := s.loadAt(p.load, p.Group)
		if of := s.Membership(&Victim{Group: p.Group, place: int32(i)}); of != nil && of.Priority != nil {
			priority = *of.Priority
		}
		if priority < below {
			return true
		}
	}
	return false
}
