package cluster

import "slices"

// distinct is a list of distinct values.
type distinct[T any] struct {
	list    []T
	index   map[string]int32 // by key; nil until a value is looked up
	key     func([]byte, T) []byte
	scratch []byte
}

// derive returns the values for an owner that may add others.
func (d *distinct[T]) derive() distinct[T] { return distinct[T]{list: slices.Clip(d.list), key: d.key} }

// find returns the index of a value, 0 for one with an empty key. It adds a clone of a new one.
func (d *distinct[T]) find(v T, clone func(T) T) int32 {
	d.scratch = d.key(d.scratch[:0], v)
	if len(d.scratch) == 0 {
		return 0
	}
	if d.index == nil {
		d.index = make(map[string]int32, len(d.list))
		for i, known := range d.list {
			d.index[string(d.key(nil, known))] = int32(i)
		}
	}
	i, ok := d.index[string(d.scratch)]
	if !ok {
		i = int32(len(d.list))
		d.index[string(d.scratch)] = i
		d.list = append(d.list, clone(v))
	}
	return i
}
