// Package snapshots keeps compiled clusters by their content address, as long as there is room.
package snapshots

import (
	"maps"
	"sync/atomic"

	"github.com/stowage-scheduler/stowage/proto/content"
	"github.com/stowage-scheduler/stowage/server/decode"
)

// Cache holds clusters of so many bytes in all. What was not asked for longest makes room for what comes. It has no
// locks: readers load one pointer, writers publish a new map and try again if another was faster.
type Cache struct {
	limit     int64
	clock     atomic.Uint64
	published atomic.Pointer[entries]
}

type entries struct {
	byAddress map[content.Address]*entry
	bytes     int64
}

type entry struct {
	cluster *decode.Cluster
	bytes   int64
	used    atomic.Uint64 // by the cache's clock
}

// New returns an empty cache.
func New(limit int64) *Cache {
	c := &Cache{limit: limit}
	c.published.Store(&entries{byAddress: map[content.Address]*entry{}})
	return c
}

// Get returns the cluster of an address, nil if it is not there.
func (c *Cache) Get(a content.Address) *decode.Cluster {
	e := c.published.Load().byAddress[a]
	if e == nil {
		return nil
	}
	e.used.Store(c.clock.Add(1))
	return e.cluster
}

// Put keeps a cluster, and reports whether it fits at all. It is there until others need the room.
func (c *Cache) Put(cluster *decode.Cluster) (kept bool) {
	added := &entry{cluster: cluster, bytes: cluster.Memory()}
	if added.bytes > c.limit {
		return false
	}
	added.used.Store(c.clock.Add(1))
	address := cluster.Content.Address()
	for {
		old := c.published.Load()
		if there := old.byAddress[address]; there != nil {
			there.used.Store(c.clock.Add(1))
			return true
		}
		next := &entries{byAddress: maps.Clone(old.byAddress), bytes: old.bytes}
		for next.bytes+added.bytes > c.limit {
			next.evict()
		}
		next.byAddress[address] = added
		next.bytes += added.bytes
		if c.published.CompareAndSwap(old, next) {
			return true
		}
	}
}

// evict drops what was not asked for longest.
func (e *entries) evict() {
	var oldest content.Address
	var since uint64
	for a, x := range e.byAddress {
		if used := x.used.Load(); since == 0 || used < since {
			oldest, since = a, used
		}
	}
	e.bytes -= e.byAddress[oldest].bytes
	delete(e.byAddress, oldest)
}

// Len returns how many clusters there are, and their bytes.
func (c *Cache) Len() (clusters int, bytes int64) {
	now := c.published.Load()
	return len(now.byAddress), now.bytes
}
