package content

import "hash/maphash"

// names finds nodes by name: a hash table with linear probing of node indexes plus one, with 0 for nothing, at most half
// full. The names themselves are in the nodes, so that the table has no pointers and is copied at once.
type names struct {
	table []uint32 // the length is a power of 2
	len   int
}

var seed = maphash.MakeSeed()

// find returns the slot of a name: that of its node, or an empty one. The table must not be empty.
func (t *names) find(nodes *List, name []byte) int {
	mask := len(t.table) - 1
	slot := int(maphash.Bytes(seed, name)) & mask
	for t.table[slot] != 0 && string(nameOf(nodes.At(int(t.table[slot]-1)))) != string(name) {
		slot = (slot + 1) & mask
	}
	return slot
}

// lookup returns the index of the node of a name.
func (t *names) lookup(nodes *List, name []byte) (uint32, bool) {
	if len(t.table) == 0 {
		return 0, false
	}
	i := t.table[t.find(nodes, name)]
	return i - 1, i != 0
}

// add notes the name of the node that is to come after these, and tells whether the name is new.
func (t *names) add(nodes *List, name []byte) bool {
	if 2*(t.len+1) > len(t.table) {
		t.grow(nodes, t.len+1)
	}
	slot := t.find(nodes, name)
	if t.table[slot] != 0 {
		return false
	}
	t.table[slot] = uint32(nodes.Len() + 1)
	t.len++
	return true
}

// grow makes the table anew from the nodes, with room for as many and half as many again.
func (t *names) grow(nodes *List, want int) {
	size := 16
	for size < 3*want {
		size *= 2
	}
	*t = names{table: make([]uint32, size), len: nodes.Len()}
	for i, node := range nodes.All {
		t.table[t.find(nodes, nameOf(node))] = uint32(i + 1)
	}
}
