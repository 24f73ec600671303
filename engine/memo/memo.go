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

// Map remembers up to Limit values by key. The zero value remembers nothing.
type Map[K comparable, V any] struct {
	Limit     int
	published atomic.Pointer[map[K]V]
}

// Carry takes over the values that other remembers now and keep lets through. It is for a map that nobody else knows yet.
func (m *Map[K, V]) Carry(other *Map[K, V], keep func(K) bool) {
	p := other.published.Load()
	if p == nil {
		return
	}
	carried := maps.Clone(*p)
	maps.DeleteFunc(carried, func(key K, _ V) bool { return !keep(key) })
	m.published.Store(&carried)
}

// All returns the values that are remembered now. The map must not be changed.
func (m *Map[K, V]) All() map[K]V {
	if p := m.published.Load(); p != nil {
		return *p
	}
	return nil
}

// Get returns the value of a key, computing it if it is not there. A value that is not complete, because whoever
// computed it had to stop, is returned but not remembered; what finds no room is computed each time.
func (m *Map[K, V]) Get(key K, compute func() (v V, complete bool)) V {
	if p := m.published.Load(); p != nil {
		if v, ok := (*p)[key]; ok {
			return v
		}
	}
	v, complete := compute()
	if !complete || m.Limit == 0 {
		return v
	}
	for {
		old := m.published.Load()
		var next map[K]V
		if old == nil {
			next = make(map[K]V, 1)
		} else {
			if first, ok := (*old)[key]; ok {
				return first
			}
			if len(*old) >= m.Limit {
				return v
			}
			next = maps.Clone(*old)
		}
		next[key] = v
		if m.published.CompareAndSwap(old, &next) {
			return v
		}
	}
}
