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

// Cache caches clusters with a memory budget. A cluster's size includes the responses that it caches; memory
// shared by two clusters counts twice. Responses that requests in progress add exceed the budget until those requests call
// Recount. Cache has no locks: readers load one pointer, writers publish a new map by compare-and-swap.
//
// Owners have equal shares of the budget. Beyond the budget the least recently used cluster is evicted, among the clusters of the
// owner who needs room and of owners above their share. So an owner within the share loses no cluster because of others. A tenant
// may have a limit of its own; beyond it the tenant's least recently used clusters are evicted first.
type Cache struct {
	limit     int64
	clock     atomic.Uint64
	published atomic.Pointer[entries]
	bytes     atomic.Int64 // of all entries, as of their last Recount
	evictions atomic.Int64
}

// Owner is the owner of a cluster.
type Owner struct {
	// Tenant can see the cluster: the same content of two tenants is two clusters.
	Tenant string
	// Client pays for the cluster from its share.
	Client string
	// Limit bounds the bytes of all clusters of the tenant, 0 for no bound. The limit of the latest cluster applies.
	Limit int64
}

// key identifies a cluster.
type key struct {
	tenant  string
	address content.Address
}

// entries is immutable once published.
type entries map[key]*entry

type entry struct {
	cluster    *decode.Snapshot
	owner      Owner
	fixedBytes int64         // without cached responses
	counted    atomic.Int64  // bytes of cached responses as of the last Recount; evicted after eviction
	lastUsed   atomic.Uint64 // by the cache's clock
}

const evicted = math.MinInt64

// memory is the size as of the last Recount. Summing up what clusters remember now would take longer than a Put.
func (e *entry) memory() int64 { return e.fixedBytes + max(0, e.counted.Load()) }

// New returns an empty cache with a budget in bytes.
func New(limit int64) *Cache {
	c := &Cache{limit: limit}
	c.published.Store(&entries{})
	return c
}

// Limit returns the budget in bytes.
func (c *Cache) Limit() int64 { return c.limit }

// LimitOf returns the budget of an owner's tenant in bytes.
func (c *Cache) LimitOf(o Owner) int64 {
	if o.Limit > 0 {
		return min(o.Limit, c.limit)
	}
	return c.limit
}

// Get returns a tenant's cluster with an address, nil on a cache miss.
func (c *Cache) Get(tenant string, a content.Address) *decode.Snapshot {
	e := (*c.published.Load())[key{tenant, a}]
	if e == nil {
		return nil
	}
	e.lastUsed.Store(c.clock.Add(1))
	return e.cluster
}

// Recount updates the size of a tenant's cluster after a request used it, and evicts if the budget is exceeded.
func (c *Cache) Recount(tenant string, cluster *decode.Snapshot) {
	e := (*c.published.Load())[key{tenant, cluster.Content.Address()}]
	if e == nil || e.cluster != cluster {
		return
	}
	now, before := cluster.Remembered(), e.counted.Load()
	if before >= 0 && now > before && e.counted.CompareAndSwap(before, now) && (c.bytes.Add(now-before) > c.limit || c.exceeds(e.owner)) {
		c.update(nil, e.owner)
	}
}

// Put adds a cluster of an owner, evicting others, and reports whether it fits the budget alone. A cluster that is present keeps its
// owner.
func (c *Cache) Put(cluster *decode.Snapshot, of Owner) (ok bool) {
	remembered, limit := cluster.Remembered(), c.LimitOf(of)
	added := &entry{cluster: cluster, owner: of, fixedBytes: cluster.Memory() - remembered}
	if added.fixedBytes+remembered > limit {
		return false
	}
	cluster.RememberAtMost(limit - added.fixedBytes)
	added.counted.Store(remembered)
	added.lastUsed.Store(c.clock.Add(1))
	c.update(added, of)
	return true
}

// exceeds reports whether the clusters of an owner's tenant exceed the tenant's limit.
func (c *Cache) exceeds(o Owner) bool {
	return o.Limit > 0 && c.published.Load().memoryOf(o.Tenant) > o.Limit
}

// update adds an entry, unless it is nil or its address is present, and evicts down to the budgets. The owner needs the room.
func (c *Cache) update(added *entry, of Owner) {
	for {
		old := c.published.Load()
		next := maps.Clone(*old)
		var more int64
		if added != nil {
			at := key{added.owner.Tenant, added.cluster.Content.Address()}
			if present := next[at]; present != nil {
				present.lastUsed.Store(added.lastUsed.Load())
				return
			}
			next[at] = added
			more = added.fixedBytes + added.counted.Load()
		}
		victims := next.evictOf(of)
		excess := c.bytes.Load() + more - c.limit
		for _, e := range victims {
			excess -= e.memory()
		}
		victims = append(victims, next.evict(excess, c.limit, of.Client)...)
		if !c.published.CompareAndSwap(old, &next) {
			continue
		}
		c.evictions.Add(int64(len(victims)))
		for _, e := range victims {
			more -= e.fixedBytes + e.counted.Swap(evicted)
		}
		if c.bytes.Add(more) <= c.limit || added == nil {
			return
		}
		added = nil // concurrent updates exceeded the budget: evict again
	}
}

func (e entries) memoryOf(tenant string) int64 {
	var bytes int64
	for k, x := range e {
		if k.tenant == tenant {
			bytes += x.memory()
		}
	}
	return bytes
}

// evictOf removes the least recently used entries of a tenant beyond its limit, and returns them. Like evict it leaves 1/256 of the
// limit free, and the most recently used entry, which Put has found to fit.
func (e entries) evictOf(o Owner) (victims []*entry) {
	if o.Limit == 0 {
		return nil
	}
	excess := e.memoryOf(o.Tenant) - o.Limit
	if excess <= 0 {
		return nil
	}
	var candidates []candidate
	for k, x := range e {
		if k.tenant == o.Tenant {
			candidates = append(candidates, candidate{x, k, x.lastUsed.Load()})
		}
	}
	slices.SortFunc(candidates, func(a, b candidate) int { return cmp.Compare(a.lastUsed, b.lastUsed) })
	excess += o.Limit / 256
	for _, x := range candidates[:len(candidates)-1] {
		if excess <= 0 {
			break
		}
		excess -= x.memory()
		delete(e, x.key)
		victims = append(victims, x.entry)
	}
	return victims
}

// candidate is an entry that may be evicted.
type candidate struct {
	*entry
	key
	lastUsed uint64
}

// evict removes entries for a client who needs room, if there is an excess, and returns them. It leaves 1/256 of the budget free, so that not
// every Put of a small cluster evicts; the most recently used entry stays if it fits the budget.
func (e entries) evict(excess, limit int64, client string) (victims []*entry) {
	if excess <= 0 || len(e) == 0 {
		return nil
	}
	excess += limit / 256
	candidates := make([]candidate, 0, len(e))
	usage := map[string]int64{}
	for k, x := range e {
		candidates = append(candidates, candidate{x, k, x.lastUsed.Load()})
		usage[x.owner.Client] += x.memory()
	}
	slices.SortFunc(candidates, func(a, b candidate) int { return cmp.Compare(a.lastUsed, b.lastUsed) })
	newest := len(candidates) - 1
	share := limit / int64(len(usage))
	remove := func(x candidate) {
		excess -= x.memory()
		usage[x.owner.Client] -= x.memory()
		delete(e, x.key)
		victims = append(victims, x.entry)
	}
	// An owner who has come down to the share is not evicted from again: one pass is enough.
	for _, x := range candidates[:newest] {
		if excess <= 0 {
			return victims
		}
		if of := x.owner.Client; of == client || usage[of] > share {
			remove(x)
		}
	}
	// The newest cluster alone exceeds its owner's share: others make room.
	for i, x := range candidates {
		if i == newest {
			excess -= limit / 256
		}
		if excess <= 0 {
			break
		}
		if e[x.key] == x.entry {
			remove(x)
		}
	}
	return victims
}

// Evictions returns how many clusters were evicted so far.
func (c *Cache) Evictions() int64 { return c.evictions.Load() }

// Len returns the number of clusters and their size in bytes.
func (c *Cache) Len() (clusters int, bytes int64) {
	return len(*c.published.Load()), c.bytes.Load()
}
