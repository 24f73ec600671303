// Package nodeset holds sets of nodes as bitsets over node indexes.
//
// Sets that meet in one operation have the same length. Bits beyond the number of nodes are never set.
package nodeset

import (
	"encoding/binary"
	"iter"
	"math/bits"
	"slices"
)

// Set is a set of node indexes.
type Set []uint64

// New returns an empty set for n nodes.
func New(n int) Set { return make(Set, (n+63)/64) }

// Full returns the set of all n nodes.
func Full(n int) Set {
	s := New(n)
	for i := range s {
		s[i] = ^uint64(0)
	}
	if r := n % 64; r != 0 {
		s[len(s)-1] = 1<<r - 1
	}
	return s
}

// Of returns the set of the given nodes out of n.
func Of(n int, nodes []uint32) Set {
	s := New(n)
	for _, i := range nodes {
		s.Add(i)
	}
	return s
}

// Where returns the nodes whose value v in a column has table[v] 1; the other entries of table must be 0.
func Where(column []int32, table []uint8) Set {
	s := New(len(column))
	for i := range s {
		var word uint64
		for b, v := range column[i*64 : min(i*64+64, len(column))] {
			word |= uint64(table[v]) << (b & 63)
		}
		s[i] = word
	}
	return s
}

// OfTable returns the nodes n for which table[n] is 1; the other entries must be 0.
func OfTable(table []uint8) Set {
	s := New(len(table))
	i := 0
	for ; i+8 <= len(table); i += 8 {
		// The product has byte j's bit at place 56+j, and no two bits in one place.
		bits := binary.LittleEndian.Uint64(table[i:]) * 0x0102040810204080 >> 56
		s[i/64] |= bits << (i % 64)
	}
	for ; i < len(table); i++ {
		s[i/64] |= uint64(table[i]) << (i % 64)
	}
	return s
}

// Full reports whether the set has all n nodes.
func (s Set) Full(n int) bool {
	for i := range n / 64 {
		if s[i] != ^uint64(0) {
			return false
		}
	}
	return n%64 == 0 || s[n/64] == 1<<(n%64)-1
}

// Add adds a node.
func (s Set) Add(i uint32) { s[i/64] |= 1 << (i % 64) }

// Remove drops a node.
func (s Set) Remove(i uint32) { s[i/64] &^= 1 << (i % 64) }

// Has reports whether a node is in the set.
func (s Set) Has(i uint32) bool { return s[i/64]&(1<<(i%64)) != 0 }

// Clone returns a copy.
func (s Set) Clone() Set { return append(Set(nil), s...) }

// Cut removes the nodes behind the first n, and returns s. The set has no word behind theirs.
func (s Set) Cut(n int) Set {
	if r := n % 64; r != 0 {
		s[len(s)-1] &= 1<<r - 1
	}
	return s
}

// And keeps the nodes that are in o as well.
func (s Set) And(o Set) {
	for i := range s {
		s[i] &= o[i]
	}
}

// AndNot drops the nodes that are in o.
func (s Set) AndNot(o Set) {
	for i := range s {
		s[i] &^= o[i]
	}
}

// Or adds the nodes of o.
func (s Set) Or(o Set) {
	for i := range s {
		s[i] |= o[i]
	}
}

// Minus returns the nodes of s that are not in o.
func (s Set) Minus(o Set) Set {
	d := s.Clone()
	d.AndNot(o)
	return d
}

// Meets reports whether a node is in both sets.
func (s Set) Meets(o Set) bool {
	for i := range s {
		if s[i]&o[i] != 0 {
			return true
		}
	}
	return false
}

// Empty reports whether the set has no nodes.
func (s Set) Empty() bool {
	for _, w := range s {
		if w != 0 {
			return false
		}
	}
	return true
}

// Ends returns the first and the last node, and whether there are any.
func (s Set) Ends() (first, last uint32, found bool) {
	for i, word := range s {
		if word == 0 {
			continue
		}
		if !found {
			first, found = uint32(i*64+bits.TrailingZeros64(word)), true
		}
		last = uint32(i*64 + bits.Len64(word) - 1)
	}
	return first, last, found
}

// Len returns the number of nodes in the set.
func (s Set) Len() int {
	n := 0
	for _, w := range s {
		n += bits.OnesCount64(w)
	}
	return n
}

// Indexes returns the nodes in ascending order, nil if there are none.
func (s Set) Indexes() []uint32 {
	n := s.Len()
	if n == 0 {
		return nil
	}
	return s.appendIndexes(make([]uint32, 0, n), n)
}

// AppendIndexes appends the nodes in ascending order.
func (s Set) AppendIndexes(to []uint32) []uint32 { return s.appendIndexes(to, s.Len()) }

func (s Set) appendIndexes(to []uint32, n int) []uint32 {
	out := slices.Grow(to, n)[:len(to)+n]
	rest := out[len(to):]
	for i, w := range s {
		first := uint32(i * 64)
		if w == ^uint64(0) {
			for j := range rest[:64] {
				rest[j] = first + uint32(j)
			}
			rest = rest[64:]
			continue
		}
		n := bits.OnesCount64(w)
		of := rest[:n]
		for j := range of {
			of[j] = first + uint32(bits.TrailingZeros64(w))
			w &= w - 1
		}
		rest = rest[n:]
	}
	return out
}

// All iterates over the nodes in ascending order.
func (s Set) All() iter.Seq[uint32] {
	return func(yield func(uint32) bool) {
		for i, w := range s {
			for w != 0 {
				if !yield(uint32(i*64 + bits.TrailingZeros64(w))) {
					return
				}
				w &= w - 1
			}
		}
	}
}
