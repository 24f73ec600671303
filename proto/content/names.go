package content

import "hash/maphash"

// names maps node names to indexes: a hash table with linear probing, at most half full. The names stay in the encoded
// nodes, so the table has no pointers and copies as one block.
type names struct {
	table []slot // the length is a power of 2
	len   int
}

type slot struct {
	hash uint32 // of the name
	next uint32 // the node's index plus one; 0 in an empty slot
}

var seed = maphash.MakeSeed()

// find returns the hash of a name and its slot, which is empty if no node has the name. The table must not be empty.
func (t *names) find(nodes *List, name []byte) (hash uint32, at *slot) {
	hash = uint32(maphash.Bytes(seed, name))
	mask := uint32(len(t.table) - 1)
	for i := hash & mask; ; i = (i + 1) & mask {
		at = &t.table[i]
		if at.next == 0 || at.hash == hash && string(nameOf(nodes.raw(int(at.next-1)))) == string(name) {
			return hash, at
		}
	}
}

// lookup returns the index of the node with a name.
func (t *names) lookup(nodes *List, name []byte) (uint32, bool) {
	if len(t.table) == 0 {
		return 0, false
	}
	_, at := t.find(nodes, name)
	return at.next - 1, at.next != 0
}

// add adds the name of the node that is appended next, and reports whether the name is new.
func (t *names) add(nodes *List, name []byte) bool {
	if 2*(t.len+1) > len(t.table) {
		t.grow(nodes, t.len+1)
	}
	hash, at := t.find(nodes, name)
	if at.next != 0 {
		return false
	}
	*at = slot{hash, uint32(nodes.Len() + 1)}
	t.len++
	return true
}

// grow rebuilds the table from the nodes, with capacity for half again as many names as wanted.
func (t *names) grow(nodes *List, want int) {
	size := 16
	for size < 3*want {
		size *= 2
	}
	*t = names{table: make([]slot, size), len: nodes.Len()}
	for i, node := range nodes.allRaw {
		hash, at := t.find(nodes, nameOf(node))
		*at = slot{hash, uint32(i + 1)}
	}
}
