// Package snapshots keeps compiled clusters by their content address, as long as there is room.
package snapshots

import (
	"cmp"
	"maps"
	"slices"
	"sync/atomic"

	"github.com/stowage-scheduler/stowage/proto/content"
	"github.com/stowage-scheduler/stowage/server/decode"
)

// Cache holds clusters of so many bytes in all, what they remember included; what two of them share counts for both. What
// was not asked for longest makes room when a cluster is put or asked for; what the requests in progress make clusters
// remember comes on top until then. It has no locks: readers load one pointer, writers publish a new map and try again if
// another was faster.
type Cache struct {
	limit     int64
	clock     atomic.Uint64
	published atomic.Pointer[entries]
}

// entries are immutable.
type entries map[content.Address]*entry

type entry struct {
	cluster    *decode.Cluster
	bytes      int64         // besides what the cluster remembers
	remembered atomic.Int64  // when it was last looked at
	used       atomic.Uint64 // by the cache's clock
}

func (e *entry) memory() int64 { return e.bytes + e.cluster.Remembered() }

// New returns an empty cache.
func New(limit int64) *Cache {
	c := &Cache{limit: limit}
	c.published.Store(&entries{})
	return c
}

// Get returns the cluster of an address, nil if it is not there.
func (c *Cache) Get(a content.Address) *decode.Cluster {
	e := (*c.published.Load())[a]
	if e == nil {
		return nil
	}
	e.used.Store(c.clock.Add(1))
	if now := e.cluster.Remembered(); now > e.remembered.Load() {
		e.remembered.Store(now)
		c.edit(nil)
	}
	return e.cluster
}

// Put keeps a cluster, and reports whether it fits at all. It is there until others need the room.
func (c *Cache) Put(cluster *decode.Cluster) (kept bool) {
	remembered := cluster.Remembered()
	added := &entry{cluster: cluster, bytes: cluster.Memory() - remembered}
	if added.bytes+remembered > c.limit {
		return false
	}
	cluster.RememberAtMost(c.limit - added.bytes)
	added.remembered.Store(remembered)
	added.used.Store(c.clock.Add(1))
	c.edit(added)
	return true
}

// edit adds an entry, if there is one to add and none of its address, and drops what there is no room for.
func (c *Cache) edit(added *entry) {
	for {
		old := c.published.Load()
		next := *old
		if added != nil {
			if there := next[added.cluster.Content.Address()]; there != nil {
				there.used.Store(added.used.Load())
				return
			}
			next = maps.Clone(next)
			next[added.cluster.Content.Address()] = added
		}
		if excess := next.memory() - c.limit; excess > 0 {
			if added == nil {
				next = maps.Clone(next)
			}
			next.free(excess)
		} else if added == nil {
			return
		}
		if c.published.CompareAndSwap(old, &next) {
			return
		}
	}
}

func (e entries) memory() int64 {
	var bytes int64
	for _, x := range e {
		bytes += x.memory()
	}
	return bytes
}

// free drops so many bytes of what was not asked for longest.
func (e entries) free(bytes int64) {
	type candidate struct {
		*entry
		address content.Address
		used    uint64
	}
	candidates := make([]candidate, 0, len(e))
	for a, x := range e {
		candidates = append(candidates, candidate{x, a, x.used.Load()})
	}
	slices.SortFunc(candidates, func(a, b candidate) int { return cmp.Compare(a.used, b.used) })
	for _, x := range candidates {
		if bytes <= 0 {
			return
		}
		bytes -= x.memory()
		delete(e, x.address)
	}
}

// Len returns how many clusters there are, and their bytes.
func (c *Cache) Len() (clusters int, bytes int64) {
	now := *c.published.Load()
	return len(now), now.memory()
}
