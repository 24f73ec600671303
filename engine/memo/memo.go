// Package memo remembers what was computed once, for everyone, without locks.
//
// Readers load one pointer. A writer publishes a new immutable map with one entry more; when two publish at once, one
// of them tries again, and for one key the first value stays. Values must be the same whoever computes them, so that it
// does not matter which one stays.
package memo

import (
	"maps"
	"sync/atomic"
)

// entryBytes is what an entry counts for besides its value.
const entryBytes = 256

// Map remembers values by key, of up to so many bytes together. What finds no room is not remembered. The zero value
// remembers nothing.
type Map[K comparable, V any] struct {
	limit     atomic.Int64
	taken     atomic.Int64
	published atomic.Pointer[map[K]V]
}

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
	for old := m.limit.Load(); limit < old && !m.limit.CompareAndSwap(old, limit); old = m.limit.Load() {
	}
}

// All returns the values that are remembered now. The map must not be changed.
func (m *Map[K, V]) All() map[K]V {
	if p := m.published.Load(); p != nil {
		return *p
	}
	return nil
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
	if first, ok := m.All()[key]; ok {
		return first
	}
	if !m.take(bytes) {
		return v
	}
	for {
		old := m.published.Load()
		var next map[K]V
		if old == nil {
			next = make(map[K]V, 1)
		} else {
			if first, ok := (*old)[key]; ok {
				m.taken.Add(-bytes)
				return first
			}
			next = maps.Clone(*old)
		}
		next[key] = v
		if m.published.CompareAndSwap(old, &next) {
			return v
		}
	}
}

// Get returns the value of a key, computing it if it is not there. A value that is not complete, because whoever
// computed it had to stop, is returned but not remembered.
func (m *Map[K, V]) Get(key K, compute func() (v V, bytes int64, complete bool)) V {
	if v, ok := m.All()[key]; ok {
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
	carried := make(map[K]V, len(other.All()))
	for key, v := range other.All() {
		if keep(key) && m.take(bytes(v)+entryBytes) {
			carried[key] = v
		}
	}
	m.published.Store(&carried)
}
