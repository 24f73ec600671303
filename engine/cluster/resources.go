package cluster

import (
	"slices"

	"github.com/stowage-scheduler/stowage/engine/api"
	"github.com/stowage-scheduler/stowage/engine/requests"
)

// Lanes of the resources that every node has.
const (
	CPU = iota
	Memory
	EphemeralStorage
	Lanes
)

// LaneNames are the lanes' resources.
var LaneNames = [Lanes]string{api.ResourceCPU, api.ResourceMemory, api.ResourceEphemeralStorage}

// Resources holds the nodes' resources as columns.
type Resources struct {
	Allocatable [Lanes][]int64
	// Requested is what the nodes' pods occupy.
	Requested [Lanes][]int64
	// Defaulted is Requested of CPU and Memory, with defaults for containers that leave a request out.
	Defaulted   [2][]int64
	AllowedPods []int64
	Pods        []int64
	// Scalars holds the other resources, by name.
	Scalars map[string]*Scalar
}

// Scalar is a resource that only some nodes have.
type Scalar struct {
	Nodes                  []uint32 // those with the resource, ascending
	Allocatable, Requested []int64  // one for each of Nodes
}

// Find returns the position of a node in Nodes and whether it has the resource.
func (s *Scalar) Find(node uint32) (int, bool) {
	if s == nil {
		return 0, false
	}
	return slices.BinarySearch(s.Nodes, node)
}

// Usage is what one pod occupies.
type Usage struct {
	Amounts   [Lanes]int64
	Defaulted [2]int64
	Scalars   []api.Quantity
}

func usageOf(spec *api.PodSpec, status *api.PodResourceStatus) Usage {
	occupied, defaulted := requests.Running(spec, status)
	var u Usage
	for _, q := range occupied {
		if lane := slices.Index(LaneNames[:], q.Resource); lane >= 0 {
			u.Amounts[lane] = q.Amount
		} else if requests.Scalar(q.Resource) && q.Amount != 0 {
			u.Scalars = append(u.Scalars, q)
		}
	}
	for lane := range u.Defaulted {
		u.Defaulted[lane], _ = defaulted.Get(LaneNames[lane])
	}
	return u
}

func newResources(nodes []api.Node) *Resources {
	n := len(nodes)
	r := &Resources{AllowedPods: make([]int64, n), Pods: make([]int64, n), Scalars: make(map[string]*Scalar)}
	for lane := range Lanes {
		r.Allocatable[lane] = make([]int64, n)
		r.Requested[lane] = make([]int64, n)
	}
	for lane := range r.Defaulted {
		r.Defaulted[lane] = make([]int64, n)
	}
	for i := range nodes {
		for _, q := range nodes[i].Allocatable {
			if lane := slices.Index(LaneNames[:], q.Resource); lane >= 0 {
				r.Allocatable[lane][i] = q.Amount
			} else if q.Resource == api.ResourcePods {
				r.AllowedPods[i] = q.Amount
			} else if requests.Scalar(q.Resource) {
				s := r.Scalars[q.Resource]
				if s == nil {
					s = &Scalar{}
					r.Scalars[q.Resource] = s
				}
				s.Nodes = append(s.Nodes, uint32(i))
				s.Allocatable = append(s.Allocatable, q.Amount)
				s.Requested = append(s.Requested, 0)
			}
		}
	}
	return r
}

// add counts pods onto a node.
func (r *Resources) add(node uint32, u *Usage, count int64) {
	r.Pods[node] += count
	for lane := range Lanes {
		r.Requested[lane][node] += u.Amounts[lane] * count
	}
	for lane := range u.Defaulted {
		r.Defaulted[lane][node] += u.Defaulted[lane] * count
	}
	for _, q := range u.Scalars {
		s := r.Scalars[q.Resource]
		// What a node does not have cannot be used up there, whatever its pods ask for.
		if i, ok := s.Find(node); ok {
			s.Requested[i] += q.Amount * count
		}
	}
}

// clone returns resources whose requested side is a copy.
func (r *Resources) clone() *Resources {
	c := *r
	for lane := range Lanes {
		c.Requested[lane] = slices.Clone(r.Requested[lane])
	}
	for lane := range c.Defaulted {
		c.Defaulted[lane] = slices.Clone(r.Defaulted[lane])
	}
	c.Pods = slices.Clone(r.Pods)
	c.Scalars = make(map[string]*Scalar, len(r.Scalars))
	for name, s := range r.Scalars {
		c.Scalars[name] = &Scalar{Nodes: s.Nodes, Allocatable: s.Allocatable, Requested: slices.Clone(s.Requested)}
	}
	return &c
}
