package cluster

import (
	"slices"

	"github.com/stowage-scheduler/stowage/engine/internal/nodeset"
)

// Attached is what is attached of one driver in a state. It changes with the pods that the state assumes and evicts.
type Attached struct {
	*driverUse
	driver string
	// counts are the volumes by node, each once: of pods, and of VolumeAttachments. They are shared unless own is set.
	counts []int64
	own    bool
	// full are the nodes that cannot attach a number of volumes more; nil while these are the cluster's.
	full map[int]nodeset.Set
	// changes are, by attachment and node, how many more pods use it than in the cluster.
	changes map[string]map[uint32]int64
}

// Limits are the limits by node, -1 for no limit; nil if no node has one.
func (a *Attached) Limits() []int64 { return a.limits }

// Counts returns the volumes by node that has a limit, each once: of pods, and of VolumeAttachments. They must not be changed, and do not
// change with the state.
func (a *Attached) Counts() []int64 {
	a.own = false
	return a.counts
}

// count counts a volume more on a node, or less.
func (a *Attached) count(node uint32, more int64) {
	if !a.own {
		a.counts, a.own = slices.Clone(a.counts), true
	}
	if a.full == nil {
		a.full = make(map[int]nodeset.Set)
	}
	a.counts[node] += more
	for volumes, nodes := range a.full {
		if limit := a.limits[node]; limit >= 0 && a.counts[node]+int64(volumes) > limit {
			nodes.Add(node)
		} else {
			nodes.Remove(node)
		}
	}
}

// Full returns the nodes that cannot attach a number of volumes more, which is not 0.
func (a *Attached) Full(volumes int) nodeset.Set {
	if a.full == nil {
		return a.fullFor(volumes).Clone()
	}
	nodes, known := a.full[volumes]
	if !known {
		nodes = fullNodes(a.limits, a.counts, volumes)
		a.full[volumes] = nodes
	}
	return nodes.Clone()
}

// UsedOn reports whether a pod of a node uses an attachment.
func (a *Attached) UsedOn(node uint32, handle string) bool {
	return a.usersOn(node, handle)+a.changes[handle][node] > 0
}

// Users appends the nodes with pods that use an attachment.
func (a *Attached) Users(nodes []uint32, handle string) []uint32 {
	for _, u := range a.users.Get(handle) {
		if u.pods+a.changes[handle][u.node] > 0 {
			nodes = append(nodes, u.node)
		}
	}
	for node, more := range a.changes[handle] {
		if more > 0 && a.usersOn(node, handle) == 0 {
			nodes = append(nodes, node)
		}
	}
	return nodes
}

// Holds reports whether a VolumeAttachment of a node holds an attachment, whether or not pods use it.
func (a *Attached) Holds(node uint32, handle string) bool {
	return slices.Contains(a.on[node].held, handle)
}

// HeldWithout returns the number of volumes of VolumeAttachments of a node that are not used.
func (a *Attached) HeldWithout(node uint32, used func(handle string) bool) (n int64) {
	for _, handle := range a.on[node].held {
		if !used(handle) {
			n++
		}
	}
	return n
}

// AttachedBy returns what is attached of a driver now. The result changes with the state.
func (s *State) AttachedBy(driver string) *Attached {
	if a := s.attachedBy[driver]; a != nil {
		return a
	}
	base := s.Cluster.attachedBy(driver)
	a := &Attached{driverUse: base, driver: driver, counts: base.counts}
	for i := range s.assumed {
		if of := &s.assumed[i]; !of.evicted {
			s.change(a, of.pod.Volumes, of.node, 1)
		}
	}
	for i := range s.evicted {
		if e := &s.evicted[i]; e.Queue < 0 {
			s.change(a, s.Group(e.Group).Volumes, e.node, -int64(e.Count))
		}
	}
	for _, b := range s.brought {
		s.change(a, s.Group(b.group).Volumes, b.node, int64(b.count))
	}
	if s.attachedBy == nil {
		s.attachedBy = make(map[string]*Attached)
	}
	s.attachedBy[driver] = a
	return a
}

// volumesCome counts the volumes of pods that come to a node, or leave it if their number is negative.
func (s *State) volumesCome(volumes []Volume, node uint32, pods int64) {
	if len(volumes) == 0 {
		return
	}
	for _, a := range s.attachedBy {
		s.change(a, volumes, node, pods)
	}
}

func (s *State) change(a *Attached, volumes []Volume, node uint32, pods int64) {
	if a.limits == nil || a.limits[node] < 0 {
		return
	}
	for _, of := range s.AttachmentsBy(a.driver, volumes) {
		if of.Handle == "" {
			a.count(node, pods)
			continue
		}
		before := a.UsedOn(node, of.Handle)
		if a.changes == nil {
			a.changes = make(map[string]map[uint32]int64)
		}
		if a.changes[of.Handle] == nil {
			a.changes[of.Handle] = make(map[uint32]int64)
		}
		a.changes[of.Handle][node] += pods
		if after := a.UsedOn(node, of.Handle); after != before && !a.Holds(node, of.Handle) {
			if after {
				a.count(node, 1)
			} else {
				a.count(node, -1)
			}
		}
	}
}
