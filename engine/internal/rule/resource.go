package rule

import (
	"github.com/stowage-scheduler/stowage/engine/api"
	"github.com/stowage-scheduler/stowage/engine/internal/cluster"
)

// Need is a required amount of a resource.
type Need struct {
	Resource          string
	Amount            int64
	allocatable, used func(uint32) int64
}

// Room returns the free amount on a node.
func (n *Need) Room(node uint32) int64 { return n.allocatable(node) - n.used(node) }

// Allocatable returns the allocatable amount on a node.
func (n *Need) Allocatable(node uint32) int64 { return n.allocatable(node) }

// Needs returns the required amounts: room for one pod, and the resources that the pod requests; none without a rule.
func (f *Fit) Needs() []Need {
	if f == nil {
		return nil
	}
	r := f.resources
	of := func(column []int64) func(uint32) int64 { return func(n uint32) int64 { return column[n] } }
	needs := []Need{{api.ResourcePods, 1, of(r.AllowedPods), of(r.Pods)}}
	for lane, request := range f.lanes {
		if request > 0 {
			needs = append(needs, Need{cluster.LaneNames[lane], request, of(r.Allocatable[lane]), of(r.Requested[lane])})
		}
	}
	for i := range f.scalars {
		s := &f.scalars[i]
		needs = append(needs, Need{
			s.name, s.request,
			func(n uint32) int64 { allocatable, _ := s.on(n); return allocatable },
			func(n uint32) int64 { _, used := s.on(n); return used },
		})
	}
	return needs
}
