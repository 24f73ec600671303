package noderesources

import (
	"github.com/stowage-scheduler/stowage/engine/api"
	"github.com/stowage-scheduler/stowage/engine/cluster"
)

// Need is an amount of a resource that the pod must find.
type Need struct {
	Resource string
	Amount   int64
	room     func(uint32) int64
}

// Room returns how much a node has left of the resource.
func (n *Need) Room(node uint32) int64 { return n.room(node) }

// Needs returns what the pod must find: room for a pod, and the resources that it asks for.
func (f *Fit) Needs() []Need {
	r := f.resources
	needs := []Need{{api.ResourcePods, 1, func(n uint32) int64 { return r.AllowedPods[n] - r.Pods[n] }}}
	for lane, request := range f.lanes {
		if request > 0 {
			needs = append(needs, Need{cluster.LaneNames[lane], request, func(n uint32) int64 {
				return r.Allocatable[lane][n] - r.Requested[lane][n]
			}})
		}
	}
	for i := range f.scalars {
		s := &f.scalars[i]
		needs = append(needs, Need{s.name, s.request, func(n uint32) int64 {
			_, allocatable, used := s.on(n)
			return allocatable - used
		}})
	}
	return needs
}
