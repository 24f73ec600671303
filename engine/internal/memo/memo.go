// Package memo is a cache that concurrent requests share without locks.
//
// Keys are divided over a few immutable tables: a map, and a short list of the entries since it was made. A reader loads one
// pointer. A writer publishes a table with one more entry; a full list becomes part of a new map, so that a map is not copied for
// each entry. If two writers publish at once, one of them retries; the first value of a key stays. Values of one key must be equal,
// whichever request computes them.
package memo

import (
	"hash/maphash"
	"iter"
	"maps"
	"sync/atomic"
)

const (
	// shards is the number of tables.
	shards = 32
	// longest is the length of a table's list. Readers compare their key with each of its entries.
	longest = 16
)

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

type shard[K comparable, V any] = atomic.Pointer[table[K, V]]

// table is immutable. The last entry of its list is in it: adding one is one allocation.
type table[K comparable, V any] struct {
	settled map[K]V
	// key and value are the last entry of the list, before is the table without it. length is 0 for a table with a map alone.
	key    K
	value  V
	before *table[K, V]
	length int
}

func (t *table[K, V]) get(key K) (v V, ok bool) {
	if t == nil {
		return v, false
	}
	for at := t; at.length > 0; at = at.before {
		if at.key == key {
			return at.value, true
		}
	}
	v, ok = t.settled[key]
	return v, ok
}

// with returns the table with an entry more.
func (t *table[K, V]) with(key K, v V) *table[K, V] {
	if t == nil {
		t = &table[K, V]{}
	}
	if t.length < longest {
		return &table[K, V]{settled: t.settled, key: key, value: v, before: t, length: t.length + 1}
	}
	all := make(map[K]V, len(t.settled)+longest+1)
	maps.Copy(all, t.settled)
	for at := t; at.length > 0; at = at.before {
		all[at.key] = at.value
	}
	all[key] = v
	return &table[K, V]{settled: all}
}

// all iterates over the entries.
func (t *table[K, V]) all() iter.Seq2[K, V] {
	return func(yield func(K, V) bool) {
		for at := t; at.length > 0; at = at.before {
			if !yield(at.key, at.value) {
				return
			}
		}
		for key, v := range t.settled {
			if !yield(key, v) {
				return
			}
		}
	}
}

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
	return m.shard(key).Load().get(key)
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
		if first, ok := old.get(key); ok {
			if took {
				m.taken.Add(-bytes)
			}
			return first
		}
		if !took && !m.take(bytes) {
			return v
		}
		took = true
		if published.CompareAndSwap(old, old.with(key, v)) {
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
		carried := make(map[K]V, len(p.settled)+p.length)
		for key, v := range p.all() {
			if keep(key) && m.take(bytes(v)+entryBytes) {
				carried[key] = v
			}
		}
		m.shards[i].Store(&table[K, V]{settled: carried})
	}
}
