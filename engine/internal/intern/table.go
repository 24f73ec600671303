// Package intern gives strings dense ids, so that the engine compares and indexes integers.
//
// One goroutine builds a table, which is then only read. Extend returns a table for further strings: the ids of the base
// stay valid, new strings have ids from its Len upwards, and the base does not change.
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
	text    strings.Builder // holds the text of names
	size    int             // of the text, as it is allocated
	// slots is a hash table of names with linear probing, at most half full. Its length is a power of two. A map would hash
	// each new string once to miss it and once more to add it.
	slots []slot
}

type slot struct {
	hash uint32
	next uint32 // index in names plus one; 0 in an empty slot
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

// Grow makes room for n more strings.
func (t *Table) Grow(n int) {
	t.names = slices.Grow(t.names, n)
	t.rehash(len(t.names) + n)
}

// rehash makes slots with room for n strings, unless there are.
func (t *Table) rehash(n int) {
	size := max(16, len(t.slots))
	for size < 2*n {
		size *= 2
	}
	if size == len(t.slots) {
		return
	}
	old := t.slots
	t.slots = make([]slot, size)
	for _, s := range old {
		if s.next != 0 {
			t.put(s)
		}
	}
}

func (t *Table) put(s slot) {
	mask := uint32(len(t.slots) - 1)
	at := s.hash & mask
	for t.slots[at].next != 0 {
		at = (at + 1) & mask
	}
	t.slots[at] = s
}

// minOverlay is the number of strings of an extension below which Settled does not merge it with its base.
const minOverlay = 256

// Settled returns a table of equal content for which a lookup takes at most two steps: the lowest base and one extension
// with all later strings, or a single table if these are many. t must not change afterwards.
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
		t.size += len(s) + rounding
		t.put(slot{hashOf(s), uint32(i + 1)})
	}
	return t
}

// rounding is what an allocation takes more than its bytes: strings that were added one at a time have one each.
const rounding = 8

// Bytes estimates the memory of the table, including its bases.
func (t *Table) Bytes() int {
	total := 16*cap(t.names) + 8*len(t.slots) + t.text.Cap() - t.text.Len() + t.size
	if t.base != nil {
		total += t.base.Bytes()
	}
	return total
}

// Len returns the number of strings in the table.
func (t *Table) Len() int { return t.baseLen + len(t.names) }

// Shared reports whether an id is of the base of t, so that all extensions of the base agree on it.
func (t *Table) Shared(id ID) bool { return int(id) < t.baseLen }

// Intern returns the id of s, a new one if s is new. The table keeps a copy: s may be overwritten afterwards.
func (t *Table) Intern(s string) ID {
	hash := hashOf(s)
	if id, ok := find(t, hash, s); ok {
		return id
	}
	from := t.reserve(len(s))
	t.text.WriteString(s)
	return t.add(hash, t.text.String()[from:])
}

// InternBytes is Intern for a string in bytes.
func (t *Table) InternBytes(b []byte) ID {
	hash := uint32(maphash.Bytes(seed, b))
	if id, ok := find(t, hash, b); ok {
		return id
	}
	from := t.reserve(len(b))
	t.text.Write(b)
	return t.add(hash, t.text.String()[from:])
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
			if c := t.slots[at]; c.hash == hash && t.names[c.next-1] == string(s) {
				return ID(t.baseLen + int(c.next) - 1), true
			}
		}
	}
	return 0, false
}

// add adds a new string, which must not change.
func (t *Table) add(hash uint32, s string) ID {
	if n := len(t.names) + 1; 2*n > len(t.slots) {
		t.rehash(2 * n)
	}
	t.names = append(t.names, s)
	t.size += len(s) + rounding
	t.put(slot{hash, uint32(len(t.names))})
	return ID(t.Len() - 1)
}

// reserve makes room for n bytes of text and returns their position. Strings share allocations.
func (t *Table) reserve(n int) int {
	if t.text.Cap()-t.text.Len() < n {
		size := min(2*t.text.Cap(), 1<<14)
		t.text.Reset()
		t.text.Grow(max(size, n))
	}
	return t.text.Len()
}

// Name returns the string with an id of this table.
func (t *Table) Name(id ID) string {
	if int(id) < t.baseLen {
		return t.base.Name(id)
	}
	return t.names[int(id)-t.baseLen]
}
