// Package snapshots caches compiled clusters by content address.
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

// Cache is an LRU cache of clusters with a memory budget. A cluster's size includes the responses that it caches; memory
// shared by two clusters counts twice. Responses that requests in progress add exceed the budget until those requests call
// Recount. Cache has no locks: readers load one pointer, writers publish a new map by compare-and-swap.
type Cache struct {
	limit     int64
	clock     atomic.Uint64
	published atomic.Pointer[entries]
	bytes     atomic.Int64 // of all entries, as of their last Recount
}

// entries is immutable once published.
type entries map[content.Address]*entry

type entry struct {
	cluster    *decode.Cluster
	fixedBytes int64         // without cached responses
	counted    atomic.Int64  // bytes of cached responses as of the last Recount; evicted after eviction
	lastUsed   atomic.Uint64 // by the cache's clock
}

const evicted = math.MinInt64

func (e *entry) memory() int64 { return e.fixedBytes + e.cluster.Remembered() }

// New returns an empty cache with a budget in bytes.
func New(limit int64) *Cache {
	c := &Cache{limit: limit}
	c.published.Store(&entries{})
	return c
}

// Limit returns the budget in bytes.
func (c *Cache) Limit() int64 { return c.limit }

// Get returns the cluster of an address, nil on a cache miss.
func (c *Cache) Get(a content.Address) *decode.Cluster {
	e := (*c.published.Load())[a]
	if e == nil {
		return nil
	}
	e.lastUsed.Store(c.clock.Add(1))
	return e.cluster
}

// Recount updates the size of a cluster after a request used it, and evicts if the budget is exceeded.
func (c *Cache) Recount(cluster *decode.Cluster) {
	e := (*c.published.Load())[cluster.Content.Address()]
	if e == nil || e.cluster != cluster {
		return
	}
	now, before := cluster.Remembered(), e.counted.Load()
	if before >= 0 && now > before && e.counted.CompareAndSwap(before, now) && c.bytes.Add(now-before) > c.limit {
		c.update(nil)
	}
}

// Put adds a cluster, evicting others, and reports whether it fits the budget alone.
func (c *Cache) Put(cluster *decode.Cluster) (ok bool) {
	remembered := cluster.Remembered()
	added := &entry{cluster: cluster, fixedBytes: cluster.Memory() - remembered}
	if added.fixedBytes+remembered > c.limit {
		return false
	}
	cluster.RememberAtMost(c.limit - added.fixedBytes)
	added.counted.Store(remembered)
	added.lastUsed.Store(c.clock.Add(1))
	c.update(added)
	return true
}

// update adds an entry, unless it is nil or its address is present, and evicts down to the budget.
func (c *Cache) update(added *entry) {
	for {
		old := c.published.Load()
		next := maps.Clone(*old)
		var more int64
		if added != nil {
			if present := next[added.cluster.Content.Address()]; present != nil {
				present.lastUsed.Store(added.lastUsed.Load())
				return
			}
			next[added.cluster.Content.Address()] = added
			more = added.fixedBytes + added.counted.Load()
		}
		var victims []*entry
		// c.bytes lags behind the responses of requests in progress. Near the budget evict sums up the actual sizes.
		if c.bytes.Load()+more > c.limit-c.limit/8 {
			victims = next.evict(c.limit)
		}
		if !c.published.CompareAndSwap(old, &next) {
			continue
		}
		for _, e := range victims {
			more -= e.fixedBytes + e.counted.Swap(evicted)
		}
		if c.bytes.Add(more) <= c.limit || added == nil {
			return
		}
		added = nil // concurrent updates exceeded the budget: evict again
	}
}

func (e entries) memory() int64 {
	var bytes int64
	for _, x := range e {
		bytes += x.memory()
	}
	return bytes
}

// evict removes the least recently used entries and returns them. It leaves 1/256 of the budget free, so that not every
// Put of a small cluster evicts; the most recently used entry stays if it fits the budget.
func (e entries) evict(limit int64) (victims []*entry) {
	excess := e.memory() - limit
	if excess <= 0 {
		return nil
	}
	type candidate struct {
		*entry
		address  content.Address
		lastUsed uint64
	}
	candidates := make([]candidate, 0, len(e))
	for a, x := range e {
		candidates = append(candidates, candidate{x, a, x.lastUsed.Load()})
	}
	slices.SortFunc(candidates, func(a, b candidate) int { return cmp.Compare(a.lastUsed, b.lastUsed) })
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
		victims = append(victims, x.entry)
	}
	return victims
}

// Len returns the number of clusters and their size in bytes.
func (c *Cache) Len() (clusters int, bytes int64) {
	now := *c.published.Load()
	return len(now), now.memory()
}
