// Package tiebreak chooses one of several equally good nodes.
package tiebreak

import (
	"cmp"
	"math/bits"
	"slices"
)

// MaxPods is the number of pods on a node from which on nodes count as equally full.
const MaxPods = 4095

// Order is an order of nodes. It is for one goroutine at a time.
type Order struct {
	size   int
	hashes []uint64 // by node; nil without a seed
	// nodes are the nodes in the order, and positions is the inverse. They are nil until needed; positions is nil without a seed.
	nodes, positions []uint32
	fewest           bool
}

// New returns the order of a seed: ascending by splitmix64(seed xor FNV-1a-64(name)), then by index; with seed 0 by index alone.
// If fewest is set, Rank prefers nodes with few pods.
func New(names []string, seed uint64, fewest bool) *Order {
	o := &Order{size: len(names), fewest: fewest}
	if seed != 0 {
		o.hashes = make([]uint64, o.size)
		for i, name := range names {
			o.hashes[i] = splitmix64(seed ^ fnv1a(name))
		}
	}
	return o
}

// Compare compares two nodes by their positions in the order.
func (o *Order) Compare(a, b uint32) int {
	if o.hashes == nil {
		return cmp.Compare(a, b)
	}
	return cmp.Or(cmp.Compare(o.hashes[a], o.hashes[b]), cmp.Compare(a, b))
}

// First returns the first in the order of nodes, which are ascending.
func (o *Order) First(nodes []uint32) uint32 {
	if o.hashes == nil {
		return nodes[0]
	}
	return slices.MinFunc(nodes, o.Compare)
}

// Nodes returns all nodes in the order. They must not be changed.
func (o *Order) Nodes() []uint32 {
	if o.nodes == nil {
		o.nodes = make([]uint32, o.size)
		for i := range o.nodes {
			o.nodes[i] = uint32(i)
		}
		if o.hashes != nil {
			slices.SortFunc(o.nodes, o.Compare)
		}
	}
	return o.nodes
}

// Best returns the node with the lowest rank of nodes, which are ascending. pods returns the number of pods on a node.
func (o *Order) Best(nodes []uint32, pods func(uint32) int64) uint32 {
	if !o.fewest {
		return o.First(nodes)
	}
	rank := o.Ranks(pods)
	return slices.MinFunc(nodes, func(a, b uint32) int { return cmp.Compare(rank.Of(a), rank.Of(b)) })
}

// Ranks are the ranks of nodes while the numbers of their pods change. Each node has another rank, and the lowest one is
// preferred. The rank of a node falls only if its pods become fewer.
type Ranks struct {
	nodes, positions []uint32           // of the order; nil if they are equal
	pods             func(uint32) int64 // on a node; nil if they do not count
	bits             int                // of a position
	limit            int64              // on the pods that count
}

// Ranks returns the ranks of nodes with the given numbers of pods, which may change.
func (o *Order) Ranks(pods func(uint32) int64) Ranks {
	if o.hashes != nil && o.positions == nil {
		o.positions = make([]uint32, o.size)
		for i, n := range o.Nodes() {
			o.positions[n] = uint32(i)
		}
	}
	r := Ranks{positions: o.positions}
	if o.positions != nil {
		r.nodes = o.nodes
	}
	if o.fewest {
		r.pods, r.bits = pods, bits.Len(uint(max(1, o.size)-1))
		r.limit = min(MaxPods, int64(1)<<(32-r.bits)-1)
	}
	return r
}

// Count reports whether the numbers of pods count.
func (r *Ranks) Count() bool { return r.pods != nil }

// Of returns the rank of a node. If pods count it is their number, then the node's position xor that number: the order of nodes
// differs from one number to the next, so that pods of two kinds that come in turns do not share the nodes between the kinds.
func (r *Ranks) Of(n uint32) uint32 {
	position := n
	if r.positions != nil {
		position = r.positions[n]
	}
	if r.pods == nil {
		return position
	}
	pods := uint32(min(max(0, r.pods(n)), r.limit))
	return pods<<r.bits | position ^ pods&(1<<r.bits-1)
}

// Node returns the node that has or had a rank.
func (r *Ranks) Node(rank uint32) uint32 {
	position := rank
	if r.pods != nil {
		position = (rank ^ rank>>r.bits) & (1<<r.bits - 1)
	}
	if r.nodes != nil {
		return r.nodes[position]
	}
	return position
}

func fnv1a(s string) uint64 {
	h := uint64(14695981039346656037)
	for i := range len(s) {
		h = (h ^ uint64(s[i])) * 1099511628211
	}
	return h
}

func splitmix64(x uint64) uint64 {
	x += 0x9e3779b97f4a7c15
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}
