// Package intern gives strings dense ids, so that the engine compares and indexes integers.
//
// A table is built by one goroutine and then only read. What comes later extends it with a table of its own (Extend):
// ids of the extended table keep their meaning, new strings get ids from its Len upwards, and nothing shared changes.
package intern

import (
	"maps"
	"slices"
	"strings"
)

// ID is a string's id. Ids are dense from 0; 0 is the empty string.
type ID uint32

// Table maps strings to ids and back.
type Table struct {
	base    *Table // frozen; nil in a table that extends nothing
	baseLen int
	ids     map[string]ID
	names   []string
}

// New returns a table that holds the empty string.
func New() *Table {
	t := &Table{ids: make(map[string]ID)}
	t.Intern("")
	return t
}

// Extend returns a table that holds everything that base holds, under the same ids. base must not change afterwards.
func Extend(base *Table) *Table {
	return &Table{base: base, baseLen: base.Len()}
}

// Grow makes room for a number of strings more.
func (t *Table) Grow(n int) {
	ids := make(map[string]ID, len(t.ids)+n)
	maps.Copy(ids, t.ids)
	t.ids, t.names = ids, slices.Grow(t.names, n)
}

// minOverlay is how many strings an extension may always hold before it is worth copying what it extends.
const minOverlay = 256

// Settled returns a table of the same content in which looking up takes at most two steps, however often tables were
// extended to make it: the lowest of them and one of all that came later, or a single table once what came later is many
// strings. t must not change afterwards.
func (t *Table) Settled() *Table {
	if len(t.names) == 0 && t.base != nil {
		return t.base
	}
	if t.base == nil || t.base.base == nil {
		return t
	}
	lower, upper := t.base.base, t.base
	if n := len(upper.names) + len(t.names); n > minOverlay && n*n > 4*lower.Len() {
		all := &Table{ids: make(map[string]ID, t.Len()), names: slices.Concat(lower.names, upper.names, t.names)}
		for i, s := range all.names {
			all.ids[s] = ID(i)
		}
		return all
	}
	merged := &Table{base: lower, baseLen: lower.Len(), ids: maps.Clone(upper.ids), names: slices.Concat(upper.names, t.names)}
	maps.Copy(merged.ids, t.ids)
	return merged
}

// Bytes estimates the memory of the table, what it extends included.
func (t *Table) Bytes() int {
	const entry = 16 + 38 // a string header, and a map's slots for one and its id at the usual load
	total := entry * len(t.names)
	for _, s := range t.names {
		total += (len(s) + 7) &^ 7
	}
	if t.base != nil {
		total += t.base.Bytes()
	}
	return total
}

// Len returns the number of strings in the table.
func (t *Table) Len() int { return t.baseLen + len(t.names) }

// Shared reports whether an id stands in the table that t extends, and so means the same to everyone who extends it.
func (t *Table) Shared(id ID) bool { return int(id) < t.baseLen }

// Intern returns the id of s, a new one if s is new. The table keeps a copy: s may be overwritten afterwards.
func (t *Table) Intern(s string) ID {
	if id, ok := t.Lookup(s); ok {
		return id
	}
	id := ID(t.Len())
	if t.ids == nil {
		t.ids = make(map[string]ID)
	}
	s = strings.Clone(s)
	t.ids[s] = id
	t.names = append(t.names, s)
	return id
}

// InternBytes is Intern of a string that is given as bytes.
func (t *Table) InternBytes(b []byte) ID {
	for layer := t; layer != nil; layer = layer.base {
		if id, ok := layer.ids[string(b)]; ok {
			return id
		}
	}
	return t.Intern(string(b))
}

// Lookup returns the id of s, if it has one.
func (t *Table) Lookup(s string) (ID, bool) {
	if t.base != nil {
		if id, ok := t.base.Lookup(s); ok {
			return id, true
		}
	}
	id, ok := t.ids[s]
	return id, ok
}

// Name returns the string with an id of this table.
func (t *Table) Name(id ID) string {
	if int(id) < t.baseLen {
		return t.base.Name(id)
	}
	return t.names[int(id)-t.baseLen]
}
