package cluster

import (
	"slices"
	"strings"

	"github.com/stowage-scheduler/stowage/engine/api"
	"github.com/stowage-scheduler/stowage/engine/internal/requests"
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
	Nodes                  []uint32 // those that have it or have pods that ask for it, ascending
	Allocatable, Requested []int64  // one for each of Nodes
}

// Find returns the position of a node in Nodes and whether it is there.
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

// scalar returns the column of a resource, a new one if there is none.
func (r *Resources) scalar(resource string) *Scalar {
	s := r.Scalars[resource]
	if s == nil {
		s = &Scalar{}
		r.Scalars[strings.Clone(resource)] = s
	}
	return s
}

func (s *Scalar) append(node uint32, n scalarAmount) {
	s.Nodes = append(s.Nodes, node)
	s.Allocatable = append(s.Allocatable, n.allocatable)
	s.Requested = append(s.Requested, n.requested)
}

// amounts is a node's row of the columns, in the order of Resources.columns.
type amounts [2*Lanes + 4]int64

// Places in amounts.
const (
	allocatable = 0
	requested   = Lanes
	defaulted   = 2 * Lanes
	allowedPods = defaulted + 2
	pods        = allowedPods + 1
)

// columns returns the columns that every node has a value in.
func (r *Resources) columns() [len(amounts{})]*[]int64 {
	return [...]*[]int64{
		&r.Allocatable[CPU], &r.Allocatable[Memory], &r.Allocatable[EphemeralStorage],
		&r.Requested[CPU], &r.Requested[Memory], &r.Requested[EphemeralStorage],
		&r.Defaulted[CPU], &r.Defaulted[Memory],
		&r.AllowedPods, &r.Pods,
	}
}

// scalarAmount is what one node has of a resource that only some nodes have.
type scalarAmount struct {
	resource               string
	allocatable, requested int64
}

// allot adds allocatable resources to a node's amounts.
func (n *Draft) allot(r api.Resources) {
	for _, q := range r {
		if lane := slices.Index(LaneNames[:], q.Resource); lane >= 0 {
			n.amounts[allocatable+lane] = q.Amount
		} else if q.Resource == api.ResourcePods {
			n.amounts[allowedPods] = q.Amount
		} else if i, there := scalarIn(n.scalars, q.Resource); there {
			n.scalars[i].allocatable = q.Amount
		} else if requests.Scalar(q.Resource) {
			n.scalars = slices.Insert(n.scalars, i, scalarAmount{resource: q.Resource, allocatable: q.Amount})
		}
	}
}

// scalarIn returns the place of a resource among a node's, which are in order, and whether it is there.
func scalarIn(of []scalarAmount, resource string) (int, bool) {
	return slices.BinarySearchFunc(of, resource, func(s scalarAmount, r string) int { return strings.Compare(s.resource, r) })
}

// occupy adds pods to a node's amounts.
func (n *Draft) occupy(u *Usage, count int64) {
	n.amounts[pods] += count
	for lane, amount := range u.Amounts {
		n.amounts[requested+lane] += amount * count
	}
	for lane, amount := range u.Defaulted {
		n.amounts[defaulted+lane] += amount * count
	}
	n.occupyScalars(u, count)
}

func (n *Draft) occupyScalars(u *Usage, count int64) {
	for _, q := range u.Scalars {
		i, there := scalarIn(n.scalars, q.Resource)
		if !there {
			n.scalars = slices.Insert(n.scalars, i, scalarAmount{resource: q.Resource})
		}
		n.scalars[i].requested += q.Amount * count
	}
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
