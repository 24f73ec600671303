package simulate

import (
	"hash/maphash"
	"iter"
	"strings"
)

// tree is an immutable ordered map: set returns another tree that shares equal parts. It is a treap. The ranks of its leaves are
// hashes of their keys, so it is balanced whatever the order of insertion. The zero value is empty.
type tree[V any] struct{ root *leaf[V] }

type leaf[V any] struct {
	key         string
	rank        uint64
	value       V
	left, right *leaf[V]
}

var rankSeed = maphash.MakeSeed()

// get returns the value of a key, and whether there is one.
func (t tree[V]) get(key string) (value V, ok bool) {
	for l := t.root; l != nil; {
		switch c := strings.Compare(key, l.key); {
		case c == 0:
			return l.value, true
		case c < 0:
			l = l.left
		default:
			l = l.right
		}
	}
	return value, false
}

// set returns the tree with a value for a key.
func (t tree[V]) set(key string, value V) tree[V] {
	return tree[V]{t.root.set(&leaf[V]{key: key, rank: maphash.String(rankSeed, key), value: value})}
}

func (l *leaf[V]) set(to *leaf[V]) *leaf[V] {
	if l == nil {
		return to
	}
	out := *l
	switch c := strings.Compare(to.key, l.key); {
	case c == 0:
		out.value = to.value
	case c < 0:
		out.left = l.left.set(to)
		if up := out.left; up.rank > out.rank { // up is new: the copy of a leaf, or to
			up.right, out.left = &out, up.right
			return up
		}
	default:
		out.right = l.right.set(to)
		if up := out.right; up.rank > out.rank {
			up.left, out.right = &out, up.left
			return up
		}
	}
	return &out
}

// from iterates over the keys that begin with a prefix, in ascending order.
func (t tree[V]) from(prefix string) iter.Seq2[string, V] {
	return func(yield func(string, V) bool) { t.root.from(prefix, yield) }
}

func (l *leaf[V]) from(prefix string, yield func(string, V) bool) bool {
	if l == nil {
		return true
	}
	has := strings.HasPrefix(l.key, prefix)
	if (has || l.key > prefix) && !l.left.from(prefix, yield) {
		return false
	}
	if has && !yield(l.key, l.value) {
		return false
	}
	return !has && l.key > prefix || l.right.from(prefix, yield)
}
