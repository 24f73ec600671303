// Package intern gives strings dense ids, so that the engine compares and indexes integers.
//
// A table is built by one goroutine and then only read. What comes later extends it with a table of its own (Extend):
// ids of the extended table keep their meaning, new strings get ids from its Len upwards, and nothing shared changes.
package intern

import (
	"hash/maphash"
	"slices"
	"strings"
)

// ID is a string's id. Ids are dense from 0; 0 is the empty string.
type ID uint32

// Table maps strings to ids and back.
type Table struct {
	base    *Table // frozen; nil in a table that extends nothing
	baseLen int
	names   []string
	text    strings.Builder // where names lie
	// slots is a hash table with linear probing, at most half full; the length is a power of 2. It has no pointers.
	slots []slot
}

type slot struct {
	hash uint32
	next uint32 // one more than the place in names; 0 in an empty slot
}

var seed = maphash.MakeSeed()

// New returns a table that holds the empty string.
func New() *Table {
	t := &Table{}
	t.Intern("")
	return t
}

// Extend returns a table that holds everything that base holds, under the same ids. base must not change afterwards.
func Extend(base *Table) *Table {
	return &Table{base: base, baseLen: base.Len()}
}

// Grow makes room for a number of strings more.
func (t *Table) Grow(n int) {
	t.names = slices.Grow(t.names, n)
	if want := len(t.names) + n; 2*want > len(t.slots) {
		t.rehash(want)
	}
}

// rehash makes the slots anew, with room for a number of strings.
func (t *Table) rehash(want int) {
	size := 16
	for size < 2*want {
		size *= 2
	}
	old := t.slots
	t.slots = make([]slot, size)
	for _, s := range old {
		if s.next != 0 {
			*t.free(s.hash) = s
		}
	}
}

// free returns the empty slot for a new string.
func (t *Table) free(hash uint32) *slot {
	mask := uint32(len(t.slots) - 1)
	at := hash & mask
	for t.slots[at].next != 0 {
		at = (at + 1) & mask
	}
	return &t.slots[at]
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
		return tableOf(nil, slices.Concat(lower.names, upper.names, t.names))
	}
	return tableOf(lower, slices.Concat(upper.names, t.names))
}

// tableOf returns a table of distinct strings that base does not hold.
func tableOf(base *Table, names []string) *Table {
	t := &Table{base: base, names: names}
	if base != nil {
		t.baseLen = base.Len()
	}
	t.rehash(len(names))
	for i, s := range names {
		hash := hashOf(s)
		*t.free(hash) = slot{hash, uint32(i + 1)}
	}
	return t
}

// Bytes estimates the memory of the table, what it extends included.
func (t *Table) Bytes() int {
	total := 16*cap(t.names) + 8*len(t.slots)
	for _, s := range t.names {
		total += len(s)
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
	hash := hashOf(s)
	if id, ok := find(t, hash, s); ok {
		return id
	}
	return t.add(hash, s)
}

// InternBytes is Intern of a string that is given as bytes.
func (t *Table) InternBytes(b []byte) ID {
	hash := uint32(maphash.Bytes(seed, b))
	if id, ok := find(t, hash, b); ok {
		return id
	}
	return t.add(hash, string(b))
}

// Lookup returns the id of s, if it has one.
func (t *Table) Lookup(s string) (ID, bool) { return find(t, hashOf(s), s) }

func hashOf(s string) uint32 { return uint32(maphash.String(seed, s)) }

func find[S string | []byte](t *Table, hash uint32, s S) (ID, bool) {
	for ; t != nil; t = t.base {
		if len(t.slots) == 0 {
			continue
		}
		mask := uint32(len(t.slots) - 1)
		for at := hash & mask; t.slots[at].next != 0; at = (at + 1) & mask {
			if slot := t.slots[at]; slot.hash == hash && t.names[slot.next-1] == string(s) {
				return ID(t.baseLen + int(slot.next) - 1), true
			}
		}
	}
	return 0, false
}

// add adds a new string.
func (t *Table) add(hash uint32, s string) ID {
	if 2*(len(t.names)+1) > len(t.slots) {
		t.rehash(2 * (len(t.names) + 1))
	}
	id := ID(t.Len())
	t.names = append(t.names, t.keep(s))
	*t.free(hash) = slot{hash, uint32(len(t.names))}
	return id
}

// keep returns a copy of s that lies with others, as many in one allocation as it takes to have few.
func (t *Table) keep(s string) string {
	if t.text.Cap()-t.text.Len() < len(s) {
		size := min(2*t.text.Cap(), 1<<14)
		t.text.Reset()
		t.text.Grow(max(size, len(s)))
	}
	from := t.text.Len()
	t.text.WriteString(s)
	return t.text.String()[from:]
}

// Name returns the string with an id of this table.
func (t *Table) Name(id ID) string {
	if int(id) < t.baseLen {
		return t.base.Name(id)
	}
	return t.names[int(id)-t.baseLen]
}
