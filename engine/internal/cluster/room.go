package cluster

import (
	"math"
	"sync/atomic"
)

// Room is the free amounts of the fullest node in each run of 64 nodes.
type Room struct {
	Pods  []int64
	Lanes [Lanes][]int64
}

// room is computed at its first use.
type room struct{ published atomic.Pointer[Room] }

// Room returns the room of the nodes; nil if the resources are not the cluster's but those of a request.
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

// least returns the minimum difference in each run of 64 nodes.
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
