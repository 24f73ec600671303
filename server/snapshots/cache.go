// Package snapshots keeps compiled clusters by their content address, as long as there is room.
package snapshots

import (
	"cmp"
	"maps"
	"math"
	"slices"
	"sync/atomic"

	"github.com/stowage-scheduler/stowage/proto/content"
	"github.com/stowage-scheduler/stowage/server/decode"
)

// Cache holds clusters of so many bytes in all, what they remember included; what two of them share counts for both. What
// was not asked for longest makes room; what requests in progress make clusters remember comes on top until they call
// Count. It has no locks: readers load one pointer, writers publish a new map and try again if
// another was faster.
type Cache struct {
	limit     int64
	clock     atomic.Uint64
	published atomic.Pointer[entries]
	bytes     atomic.Int64 // of all entries, as far as they are counted
}

// entries are immutable.
type entries map[content.Address]*entry

type entry struct {
	cluster *decode.Cluster
	bytes   int64         // besides what the cluster remembers
	counted atomic.Int64  // what it remembers, when last looked at; gone once the entry is dropped
	used    atomic.Uint64 // by the cache's clock
}

const gone = math.MinInt64

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
	return e.cluster
}

// Count counts what a cluster remembers after it was asked, and makes room for it.
func (c *Cache) Count(cluster *decode.Cluster) {
	e := (*c.published.Load())[cluster.Content.Address()]
	if e == nil || e.cluster != cluster {
		return
	}
	now, before := cluster.Remembered(), e.counted.Load()
	if before >= 0 && now > before && e.counted.CompareAndSwap(before, now) && c.bytes.Add(now-before) > c.limit {
		c.edit(nil)
	}
}

// Put keeps a cluster, and reports whether it fits at all. It is there until others need the room.
func (c *Cache) Put(cluster *decode.Cluster) (kept bool) {
	remembered := cluster.Remembered()
	added := &entry{cluster: cluster, bytes: cluster.Memory() - remembered}
	if added.bytes+remembered > c.limit {
		return false
	}
	cluster.RememberAtMost(c.limit - added.bytes)
	added.counted.Store(remembered)
	added.used.Store(c.clock.Add(1))
	c.edit(added)
	return true
}

// edit adds an entry, if there is one to add and none of its address, and drops what there is no room for.
func (c *Cache) edit(added *entry) {
	for {
		old := c.published.Load()
		next := maps.Clone(*old)
		var more int64
		if added != nil {
			if there := next[added.cluster.Content.Address()]; there != nil {
				there.used.Store(added.used.Load())
				return
			}
			next[added.cluster.Content.Address()] = added
			more = added.bytes + added.counted.Load()
		}
		var dropped []*entry
		// Requests in progress have not counted yet what they made clusters remember, so near the limit all are looked at.
		if c.bytes.Load()+more > c.limit-c.limit/8 {
			dropped = next.shrink(c.limit)
		}
		if !c.published.CompareAndSwap(old, &next) {
			continue
		}
		for _, e := range dropped {
			more -= e.bytes + e.counted.Swap(gone)
		}
		if c.bytes.Add(more) <= c.limit || added == nil {
			return
		}
		added = nil // others have added theirs meanwhile
	}
}

func (e entries) memory() int64 {
	var bytes int64
	for _, x := range e {
		bytes += x.memory()
	}
	return bytes
}

// shrink drops what was not asked for longest, so much that it is not called each time when many small clusters are there.
func (e entries) shrink(limit int64) (dropped []*entry) {
	excess := e.memory() - limit
	if excess <= 0 {
		return nil
	}
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
	spare := limit / 256
	for i, x := range candidates {
		if i == len(candidates)-1 {
			spare = 0
		}
		if excess+spare <= 0 {
			break
		}
		excess -= x.memory()
		delete(e, x.address)
		dropped = append(dropped, x.entry)
	}
	return dropped
}

// Len returns how many clusters there are, and their bytes.
func (c *Cache) Len() (clusters int, bytes int64) {
	now := *c.published.Load()
	return len(now), now.memory()
}
