// Package pagedmap is maps that share what they have in common: a derived map copies the pages that it changes, and the list of pages.
package pagedmap

import (
	"hash/maphash"
	"reflect"
	"slices"

	"github.com/stowage-scheduler/stowage/engine/internal/nodeset"
)

// Map is a hash table in pages. The zero value is empty. It is for one goroutine while it changes, and immutable once it is derived from.
type Map[K comparable, V any] struct {
	pages [][]entry[K, V] // as many as a power of 2
	own   nodeset.Set     // the pages that no other map has; nil as long as the list of pages is shared
	len   int
}

type entry[K comparable, V any] struct {
	key   K
	value V
}

// full is the mean number of entries of a page from which on a map gets more pages.
const full = 32

// seed selects the page of a key, and nothing else.
var seed = maphash.MakeSeed()

// Derive returns a map with the same entries. m must not be changed any more.
func (m *Map[K, V]) Derive() Map[K, V] { return Map[K, V]{pages: m.pages, len: m.len} }

// Len returns the number of entries.
func (m *Map[K, V]) Len() int { return m.len }

func (m *Map[K, V]) page(key K) int {
	return int(maphash.Comparable(seed, key) & uint64(len(m.pages)-1))
}

func find[K comparable, V any](page []entry[K, V], key K) int {
	for i := range page {
		if page[i].key == key {
			return i
		}
	}
	return -1
}

// Get returns the value of a key, the zero value if there is none.
func (m *Map[K, V]) Get(key K) (v V) {
	if m.len == 0 {
		return v
	}
	page := m.pages[m.page(key)]
	if i := find(page, key); i >= 0 {
		return page[i].value
	}
	return v
}

// All yields the entries, in no order.
func (m *Map[K, V]) All(yield func(K, V) bool) {
	for _, page := range m.pages {
		for i := range page {
			if !yield(page[i].key, page[i].value) {
				return
			}
		}
	}
}

// Grow makes room for a number of entries more.
func (m *Map[K, V]) Grow(more int) {
	pages := max(1, len(m.pages))
	for pages*full < m.len+more {
		pages *= 2
	}
	if pages == len(m.pages) {
		return
	}
	before := m.pages
	m.pages, m.own = make([][]entry[K, V], pages), nodeset.Full(pages)
	for _, page := range before {
		for _, e := range page {
			to := &m.pages[m.page(e.key)]
			*to = append(*to, e)
		}
	}
}

// edit returns a page that may be changed.
func (m *Map[K, V]) edit(i int) *[]entry[K, V] {
	if m.own == nil {
		m.pages, m.own = slices.Clone(m.pages), nodeset.New(len(m.pages))
	}
	if !m.own.Has(uint32(i)) {
		m.pages[i] = slices.Clone(m.pages[i])
		m.own.Add(uint32(i))
	}
	return &m.pages[i]
}

// Set sets the value of a key.
func (m *Map[K, V]) Set(key K, value V) {
	m.Grow(1)
	page := m.edit(m.page(key))
	if i := find(*page, key); i >= 0 {
		(*page)[i].value = value
		return
	}
	*page = append(*page, entry[K, V]{key, value})
	m.len++
}

// Delete deletes a key.
func (m *Map[K, V]) Delete(key K) {
	if m.len == 0 {
		return
	}
	at := m.page(key)
	if i := find(m.pages[at], key); i >= 0 {
		page := m.edit(at)
		*page = slices.Delete(*page, i, i+1)
		m.len--
	}
}

// Bytes estimates the memory of the table, without what keys and values refer to.
func (m *Map[K, V]) Bytes() int64 {
	const perPage = 24 // a slice
	return int64(len(m.pages))*perPage + int64(m.len)*int64(reflect.TypeFor[entry[K, V]]().Size())*4/3
}
