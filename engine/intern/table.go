// Package intern gives strings dense ids, so that the engine compares and indexes integers.
//
// A table is built by one goroutine and then only read. A request that brings new strings extends the shared table with
// a private one (Extend): ids of the shared table keep their meaning, new strings get ids from Len of the shared table
// upwards, and nothing shared changes.
package intern

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

// Len returns the number of strings in the table.
func (t *Table) Len() int { return t.baseLen + len(t.names) }

// Shared reports whether an id stands in the table that t extends, and so means the same to everyone who extends it.
func (t *Table) Shared(id ID) bool { return int(id) < t.baseLen }

// Intern returns the id of s, a new one if s is new.
func (t *Table) Intern(s string) ID {
	if id, ok := t.Lookup(s); ok {
		return id
	}
	id := ID(t.Len())
	if t.ids == nil {
		t.ids = make(map[string]ID)
	}
	t.ids[s] = id
	t.names = append(t.names, s)
	return id
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
