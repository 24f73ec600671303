package live

import (
	"maps"
	"slices"

	"google.golang.org/protobuf/proto"
)

// table maps keys to messages, and keeps the base's value of each changed message.
type table[K comparable, M interface {
	comparable
	proto.Message
}] struct {
	now, was map[K]M // nil in was: the base has no message
}

func newTable[K comparable, M interface {
	comparable
	proto.Message
}]() table[K, M] {
	return table[K, M]{now: map[K]M{}, was: map[K]M{}}
}

// set sets a value, nil to remove it, and reports whether that is a change.
func (t *table[K, M]) set(key K, m M) bool {
	var none M
	old := t.now[key]
	if same(old, m) {
		return false
	}
	if _, kept := t.was[key]; !kept {
		t.was[key] = old
	}
	if m == none {
		delete(t.now, key)
	} else {
		t.now[key] = m
	}
	return true
}

// differences returns the new or changed values and the removed values, ordered by key.
func (t *table[K, M]) differences(compare func(a, b K) int) (set, gone []M) {
	var none M
	for _, key := range slices.SortedFunc(maps.Keys(t.was), compare) {
		old, is := t.was[key], t.now[key]
		switch {
		case same(old, is):
		case is == none:
			gone = append(gone, old)
		default:
			set = append(set, is)
		}
	}
	return set, gone
}

// all returns every value, ordered by key.
func (t *table[K, M]) all(compare func(a, b K) int) ([]K, []M) {
	keys := slices.SortedFunc(maps.Keys(t.now), compare)
	out := make([]M, len(keys))
	for i, key := range keys {
		out[i] = t.now[key]
	}
	return keys, out
}

// settle makes the current values the base.
func (t *table[K, M]) settle() { clear(t.was) }
