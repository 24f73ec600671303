package rule

import (
	"encoding/binary"
	"slices"

	"github.com/stowage-scheduler/stowage/engine/api"
	"github.com/stowage-scheduler/stowage/engine/internal/cluster"
	"github.com/stowage-scheduler/stowage/engine/internal/nodeset"
	"github.com/stowage-scheduler/stowage/engine/verdict"
)

// Fit rejects the nodes with insufficient free resources: room for one pod, and each resource that the pod requests.
type Fit struct {
	state     *cluster.State
	resources *cluster.Resources
	lanes     [cluster.Lanes]int64
	scalars   []scalar
}

type scalar struct {
	name    string
	request int64
	column  *cluster.Scalar // nil if no node has the resource
}

// NewFit returns the rule of a pod with the given requests. Amounts of 0 request nothing.
func NewFit(s *cluster.State, requests api.Resources) *Fit {
	f := &Fit{state: s, resources: s.Resources}
	for _, q := range requests {
		if lane := slices.Index(cluster.LaneNames[:], q.Resource); lane >= 0 {
			f.lanes[lane] = q.Amount
		} else if q.Amount > 0 {
			f.scalars = append(f.scalars, scalar{q.Resource, q.Amount, s.Resources.Scalars[q.Resource]})
		}
	}
	return f
}

// reject returns the nodes without room, grouped by missing resources.
func (f *Fit) reject(in nodeset.Set) []Rejection {
	var rejections []Rejection
	groups := make(map[string]int) // by missing resources
	var key []byte
	for n := range f.fullOf(in).All() {
		key = key[:0]
		code := verdict.Unschedulable
		for s := range f.shortages(n) {
			key = binary.AppendUvarint(key, uint64(s.index))
			if s.index != tooManyPods && s.Requested > s.Allocatable {
				code = verdict.UnschedulableAndUnresolvable
			}
		}
		key = append(key, byte(code))
		i, ok := groups[string(key)]
		if !ok {
			i = len(rejections)
			groups[string(key)] = i
			rejections = append(rejections, Rejection{Code: code, Reasons: f.reasons(n)})
		}
		rejections[i].Nodes = append(rejections[i].Nodes, n)
	}
	return rejections
}

// sparse is the ratio of all nodes to given nodes from which on the given nodes are checked one by one.
const sparse = 16

func (f *Fit) fullOf(in nodeset.Set) nodeset.Set {
	nodes := len(f.resources.Pods)
	if in.Len()*sparse > nodes {
		full := f.Full()
		full.And(in)
		return full
	}
	full := nodeset.New(nodes)
	for n := range in.All() {
		if f.FullOn(n) {
			full.Add(n)
		}
	}
	return full
}

// Full returns the nodes without room.
func (f *Fit) Full() nodeset.Set {
	r := f.resources
	full := nodeset.New(len(r.Pods))
	room := f.state.Room(r)
	if room == nil {
		room = &cluster.Room{}
	}
	exceed(full, r.AllowedPods, r.Pods, 1, room.Pods)
	for lane, request := range f.lanes {
		if request > 0 {
			exceed(full, r.Allocatable[lane], r.Requested[lane], request, room.Lanes[lane])
		}
	}
	for i := range f.scalars {
		s := &f.scalars[i]
		lacking := nodeset.Full(len(r.Pods))
		if s.column != nil {
			for j, n := range s.column.Nodes {
				if s.request <= s.column.Allocatable[j]-s.column.Requested[j] {
					lacking.Remove(n)
				}
			}
		}
		full.Or(lacking)
	}
	return full
}

// FullOn reports whether a node is without room.
func (f *Fit) FullOn(n uint32) bool {
	r := f.resources
	if r.Pods[n] >= r.AllowedPods[n] {
		return true
	}
	for lane, request := range f.lanes {
		if request > 0 && request > r.Allocatable[lane][n]-r.Requested[lane][n] {
			return true
		}
	}
	for i := range f.scalars {
		s := &f.scalars[i]
		if allocatable, used := s.on(n); s.request > allocatable-used {
			return true
		}
	}
	return false
}

// exceed adds the nodes with less free than requested. least is the minimum that is free in each word of nodes; nil if
// unknown.
func exceed(full nodeset.Set, allocatable, used []int64, request int64, least []int64) {
	for w := range full {
		if least != nil && request <= least[w] {
			continue
		}
		to := min(w*64+64, len(allocatable))
		taken := used[w*64 : to]
		var word uint64
		for b, a := range allocatable[w*64 : to] {
			var bit uint64
			if request > a-taken[b] {
				bit = 1
			}
			word |= bit << (b & 63)
		}
		full[w] |= word
	}
}

func (s *scalar) on(n uint32) (allocatable, requested int64) {
	i, ok := s.column.Find(n)
	if !ok {
		return 0, 0
	}
	return s.column.Allocatable[i], s.column.Requested[i]
}

// Indexes of what can be short: pods, the lanes, then the scalars.
const (
	tooManyPods = 0
	firstLane   = 1
	firstScalar = firstLane + cluster.Lanes
)

type shortage struct {
	index int
	verdict.ResourceShortage
}

// shortages iterates over the missing resources of a node, in kube-scheduler's order, scalars by name.
func (f *Fit) shortages(n uint32) func(yield func(shortage) bool) {
	r := f.resources
	return func(yield func(shortage) bool) {
		if r.Pods[n] >= r.AllowedPods[n] && !yield(shortage{tooManyPods, verdict.ResourceShortage{
			Node: n, Resource: api.ResourcePods, Requested: 1, Used: r.Pods[n], Allocatable: r.AllowedPods[n],
		}}) {
			return
		}
		for lane, request := range f.lanes {
			allocatable, used := r.Allocatable[lane][n], r.Requested[lane][n]
			if request > 0 && request > allocatable-used && !yield(shortage{firstLane + lane, verdict.ResourceShortage{
				Node: n, Resource: cluster.LaneNames[lane], Requested: request, Used: used, Allocatable: allocatable,
			}}) {
				return
			}
		}
		for i := range f.scalars {
			s := &f.scalars[i]
			allocatable, used := s.on(n)
			if s.request > allocatable-used && !yield(shortage{firstScalar + i, verdict.ResourceShortage{
				Node: n, Resource: s.name, Requested: s.request, Used: used, Allocatable: allocatable,
			}}) {
				return
			}
		}
	}
}

// Shortages returns the missing resources node by node, at most verdict.MaxDetails.
func (f *Fit) Shortages(in nodeset.Set) []verdict.ResourceShortage {
	var out []verdict.ResourceShortage
	for n := range in.All() {
		for s := range f.shortages(n) {
			if len(out) == verdict.MaxDetails {
				return out
			}
			out = append(out, s.ResourceShortage)
		}
	}
	return out
}

func (f *Fit) reasons(n uint32) []verdict.Reason {
	var out []verdict.Reason
	for s := range f.shortages(n) {
		if s.index == tooManyPods {
			out = append(out, verdict.ReasonOf(verdict.ReasonTooManyPods))
		} else {
			out = append(out, verdict.InsufficientResource(s.Resource))
		}
	}
	return out
}
