// Package memo remembers what was computed once, for everyone, without locks.
//
// Keys are spread over a few immutable maps. Readers load one pointer. A writer publishes a new map with one entry more;
// when two publish at once, one of them tries again, and for one key the first value stays. Values must be the same
// whoever computes them, so that it does not matter which one stays.
package memo

import (
	"hash/maphash"
	"maps"
	"sync/atomic"
)

// shards is how many maps there are, so that a new entry copies few others.
const shards = 32

// seed decides where a value lies, and nothing else.
var seed = maphash.MakeSeed()

// entryBytes is what an entry counts for besides its value.
const entryBytes = 256

// Map remembers values by key, of up to so many bytes together. What finds no room is not remembered. The zero value
// remembers nothing.
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

// New returns a map of up to so many bytes.
func New[K comparable, V any](limit int64) *Map[K, V] {
	m := &Map[K, V]{}
	m.limit.Store(limit)
	return m
}

// Limit returns how many bytes may be remembered.
func (m *Map[K, V]) Limit() int64 { return m.limit.Load() }

// Lower makes the map remember so many bytes at most, if that is less than before. What is there stays.
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

// Load returns what is remembered for a key, and whether anything is.
func (m *Map[K, V]) Load(key K) (v V, ok bool) {
	if p := m.shard(key).Load(); p != nil {
		v, ok = (*p)[key]
	}
	return v, ok
}

// Taken returns how many bytes are remembered now.
func (m *Map[K, V]) Taken() int64 { return m.taken.Load() }

// take sets bytes aside, and reports whether there is room.
func (m *Map[K, V]) take(bytes int64) bool {
	if m.taken.Add(bytes) <= m.limit.Load() {
		return true
	}
	m.taken.Add(-bytes)
	return false
}

// Keep remembers the value of a key if there is room for it. It returns the value to use, which is the first one.
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

// Get returns the value of a key, computing it if it is not there. A value that is not complete, because whoever
// computed it had to stop, is returned but not remembered.
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

// Carry takes over the values that other remembers now and keep lets through, as far as there is room. It is for a map
// that nobody else knows yet.
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
