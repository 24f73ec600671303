package cluster

import (
	"math"
	"sync/atomic"
)

// Room is how much the fullest node has left, among nodes 0 to 63, among the next 64, and so on.
type Room struct {
	Pods  []int64
	Lanes [Lanes][]int64
}

// room is found out when first asked for.
type room struct{ published atomic.Pointer[Room] }

// Room returns the room of the nodes by their resources; nil if these are not the cluster's own, but a request's.
func (c *Cluster) Room(r *Resources) *Room {
	if r != c.resources {
		return nil
	}
	x := c.room.published.Load()
	if x == nil {
		x = &Room{Pods: least(r.AllowedPods, r.Pods)}
		for lane := range Lanes {
			x.Lanes[lane] = least(r.Allocatable[lane], r.Requested[lane])
		}
		c.room.published.Store(x)
	}
	return x
}

// least returns the least differences, one for each 64.
func least(allocatable, used []int64) []int64 {
	used = used[:len(allocatable)]
	out := make([]int64, (len(allocatable)+63)/64)
	for i := range out {
		out[i] = math.MaxInt64
	}
	for i, a := range allocatable {
		out[i/64] = min(out[i/64], a-used[i])
	}
	return out
}

// roomBytes is what the room of so many nodes takes.
func roomBytes(nodes int) int64 { return int64(nodes+63) / 64 * 8 * (1 + Lanes) }
