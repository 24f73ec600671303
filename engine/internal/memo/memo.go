// Package memo is a cache that concurrent requests share without locks.
//
// Keys are divided over a few immutable maps. A reader loads one pointer. A writer publishes a copy of a map with one
// more entry. If two writers publish at once, one of them retries; the first value of a key stays. Values of one key
// must be equal, whichever request computes them.
package memo

import (
	"hash/maphash"
	"maps"
	"sync/atomic"
)

// shards is the number of maps. A new entry copies the other entries of its map.
const shards = 32

// seed selects the map of a key, and nothing else.
var seed = maphash.MakeSeed()

// entryBytes is the overhead of an entry.
const entryBytes = 256

// Map holds values by key, up to a limit of bytes in total. A value beyond the limit is not stored. The zero value
// stores nothing.
type Map[K comparable, V any] struct {
	limit  atomic.Int64
	taken  atomic.Int64
	shards [shards]shard[K, V]
}

type shard[K comparable, V any] = atomic.Pointer[map[K]V]

// Bounded is a Map of any kind.
type Bounded interface {
	Taken() int64
	Limit() int64
	Lower(limit int64)
}

// New returns a map with a limit of bytes.
func New[K comparable, V any](limit int64) *Map[K, V] {
	m := &Map[K, V]{}
	m.limit.Store(limit)
	return m
}

// Limit returns the limit in bytes.
func (m *Map[K, V]) Limit() int64 { return m.limit.Load() }

// Lower lowers the limit, if it is higher. Stored values stay.
func (m *Map[K, V]) Lower(limit int64) {
	for {
		if old := m.limit.Load(); limit >= old || m.limit.CompareAndSwap(old, limit) {
			return
		}
	}
}

func (m *Map[K, V]) shard(key K) *shard[K, V] {
	return &m.shards[maphash.Comparable(seed, key)%shards]
}

// Load returns the value of a key, and whether there is one.
func (m *Map[K, V]) Load(key K) (v V, ok bool) {
	if p := m.shard(key).Load(); p != nil {
		v, ok = (*p)[key]
	}
	return v, ok
}

// Taken returns the bytes of the stored values.
func (m *Map[K, V]) Taken() int64 { return m.taken.Load() }

// take reserves bytes, and reports whether the limit allows it.
func (m *Map[K, V]) take(bytes int64) bool {
	if m.taken.Add(bytes) <= m.limit.Load() {
		return true
	}
	m.taken.Add(-bytes)
	return false
}

// Keep stores the value of a key if the limit allows it. It returns the value to use, which is the first one.
func (m *Map[K, V]) Keep(key K, v V, bytes int64) V {
	bytes += entryBytes
	published := m.shard(key)
	for took := false; ; {
		old := published.Load()
		if old != nil {
			if first, ok := (*old)[key]; ok {
				if took {
					m.taken.Add(-bytes)
				}
				return first
			}
		}
		if !took && !m.take(bytes) {
			return v
		}
		took = true
		next := map[K]V{}
		if old != nil {
			next = maps.Clone(*old)
		}
		next[key] = v
		if published.CompareAndSwap(old, &next) {
			return v
		}
	}
}

// Get returns the value of a key, and computes a missing one. It does not store an incomplete value, which compute
// returns if its request has ended.
func (m *Map[K, V]) Get(key K, compute func() (v V, bytes int64, complete bool)) V {
	if v, ok := m.Load(key); ok {
		return v
	}
	v, bytes, complete := compute()
	if !complete {
		return v
	}
	return m.Keep(key, v, bytes)
}

// Carry copies the values of other whose keys keep accepts, as far as the limit allows. m must not be shared yet.
func (m *Map[K, V]) Carry(other *Map[K, V], keep func(K) bool, bytes func(V) int64) {
	for i := range other.shards {
		p := other.shards[i].Load()
		if p == nil {
			continue
		}
		carried := make(map[K]V, len(*p))
		for key, v := range *p {
			if keep(key) && m.take(bytes(v)+entryBytes) {
				carried[key] = v
			}
		}
		m.shards[i].Store(&carried)
	}
}
