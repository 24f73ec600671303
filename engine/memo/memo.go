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

// Map remembers values by key, of up to Limit bytes together. What finds no room is not remembered. The zero value
// remembers nothing.
type Map[K comparable, V any] struct {
	Limit     int64
	taken     atomic.Int64
	published atomic.Pointer[map[K]V]
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

// Take sets bytes aside for what a value comes to hold after it was kept, and reports whether there is room.
func (m *Map[K, V]) Take(bytes int64) bool {
	if m.taken.Add(bytes) <= m.Limit {
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
	if !m.Take(bytes) {
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
		if keep(key) && m.Take(bytes(v)+entryBytes) {
			carried[key] = v
		}
	}
	m.published.Store(&carried)
}
