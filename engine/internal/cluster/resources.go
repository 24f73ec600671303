package cluster

import (
	"slices"

	"github.com/stowage-scheduler/stowage/engine/api"
	"github.com/stowage-scheduler/stowage/engine/internal/requests"
)

// Lanes are the resources that every node has.
const (
	CPU = iota
	Memory
	EphemeralStorage
	Lanes
)

// LaneNames are the names of the lanes.
var LaneNames = [Lanes]string{api.ResourceCPU, api.ResourceMemory, api.ResourceEphemeralStorage}

// Resources holds the nodes' resources as columns.
type Resources struct {
	Allocatable [Lanes][]int64
	// Requested is the sum over the node's pods.
	Requested [Lanes][]int64
	// Defaulted is Requested of CPU and Memory with defaults for containers without a request.
	Defaulted   [2][]int64
	AllowedPods []int64
	Pods        []int64
	// Scalars holds the other resources, by name.
	Scalars map[string]*Scalar
}

// Scalar is a resource of some nodes: those that have it, and those with pods that request it.
type Scalar = Sparse[Amount]

// Amount is a node's amount of a resource.
type Amount struct{ Allocatable, Requested int64 }

// Usage is the resources that one pod occupies.
type Usage struct {
	Amounts   [Lanes]int64
	Defaulted [2]int64
	Scalars   []api.Quantity
}

// Of returns the amount of a resource; 1 for api.ResourcePods.
func (u *Usage) Of(resource string) int64 {
	if resource == api.ResourcePods {
		return 1
	}
	if lane := slices.Index(LaneNames[:], resource); lane >= 0 {
		return u.Amounts[lane]
	}
	for _, q := range u.Scalars {
		if q.Resource == resource {
			return q.Amount
		}
	}
	return 0
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

// amounts is a node's row of the columns, in the order of Resources.columns.
type amounts [2*Lanes + 4]int64

// Indexes in amounts.
const (
	allocatable = 0
	requested   = Lanes
	defaulted   = 2 * Lanes
	allowedPods = defaulted + 2
	pods        = allowedPods + 1
)

// columns returns the columns in which every node has a value.
func (r *Resources) columns() [len(amounts{})]*[]int64 {
	return [...]*[]int64{
		&r.Allocatable[CPU], &r.Allocatable[Memory], &r.Allocatable[EphemeralStorage],
		&r.Requested[CPU], &r.Requested[Memory], &r.Requested[EphemeralStorage],
		&r.Defaulted[CPU], &r.Defaulted[Memory],
		&r.AllowedPods, &r.Pods,
	}
}

// allot adds allocatable resources to a node's amounts.
func (n *Draft) allot(r api.Resources) {
	for _, q := range r {
		if lane := slices.Index(LaneNames[:], q.Resource); lane >= 0 {
			n.amounts[allocatable+lane] = q.Amount
		} else if q.Resource == api.ResourcePods {
			n.amounts[allowedPods] = q.Amount
		} else if requests.Scalar(q.Resource) {
			n.scalar(q.Resource).Allocatable = q.Amount
		}
	}
}

// scalar returns a node's amount of a resource. It adds a missing one.
func (n *Draft) scalar(resource string) *Amount {
	i, found := slices.BinarySearchFunc(n.scalars, resource, compareName)
	if !found {
		n.scalars = slices.Insert(n.scalars, i, named[Amount]{name: resource})
	}
	return &n.scalars[i].value
}

// occupy adds the requests of pods to the node's amounts.
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
		n.scalar(q.Resource).Requested += q.Amount * count
	}
}

// add adds the requests of pods to a node; count may be negative.
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
			s.Values[i].Requested += q.Amount * count
		}
	}
}

// clone returns resources with requests of their own.
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
		c.Scalars[name] = &Scalar{Nodes: s.Nodes, Values: slices.Clone(s.Values)}
	}
	return &c
}
