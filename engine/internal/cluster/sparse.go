package cluster

import (
	"cmp"
	"maps"
	"slices"
	"strings"
)

// Sparse is a column in which only some nodes have a value.
type Sparse[V any] struct {
	Nodes  []uint32 // ascending
	Values []V      // by position in Nodes
}

// Find returns the position of a node in Nodes and whether it is there. The receiver may be nil.
func (s *Sparse[V]) Find(node uint32) (int, bool) {
	if s == nil {
		return 0, false
	}
	if n := len(s.Nodes); n == 0 || s.Nodes[n-1] < node {
		return n, false
	}
	return slices.BinarySearch(s.Nodes, node)
}

// named is a node's value in the sparse column with a name.
type named[V any] struct {
	name  string
	value V
}

func compareName[V any](a named[V], name string) int { return strings.Compare(a.name, name) }

// distinctNames sorts values by name and keeps the first of each name.
func distinctNames[V any](values []named[V]) []named[V] {
	slices.SortStableFunc(values, func(a, b named[V]) int { return cmp.Compare(a.name, b.name) })
	return slices.CompactFunc(values, func(a, b named[V]) bool { return a.name == b.name })
}

// Moved are the new indexes of nodes by the indexes that they had, noNode for removed ones; nil if no node was removed.
type Moved []uint32

// then returns the indexes after a further removal.
func (m Moved) then(now []uint32) Moved {
	if m == nil {
		return now
	}
	out := make(Moved, len(m))
	for i, at := range m {
		if out[i] = noNode; at != noNode {
			out[i] = now[at]
		}
	}
	return out
}

// moved returns the column after nodes were removed, nil if no node with a value is left. It shares what stays as it is.
func (s *Sparse[V]) moved(by Moved) *Sparse[V] {
	if s == nil || by == nil {
		return s
	}
	out := &Sparse[V]{Nodes: make([]uint32, 0, len(s.Nodes)), Values: make([]V, 0, len(s.Nodes))}
	for i, node := range s.Nodes {
		if by[node] != noNode {
			out.Nodes, out.Values = append(out.Nodes, by[node]), append(out.Values, s.Values[i])
		}
	}
	if len(out.Nodes) == 0 {
		return nil
	}
	return out
}

// sparseEdit changes sparse columns by name. It copies a column of the base before it changes it.
type sparseEdit[V comparable] struct {
	base, own map[string]*Sparse[V]
	moved     Moved // the nodes of the base
	bytes     int64 // more than of base, once it is finished
}

func newSparseEdit[V comparable](base map[string]*Sparse[V]) sparseEdit[V] {
	return sparseEdit[V]{base: base, own: make(map[string]*Sparse[V])}
}

func (e *sparseEdit[V]) column(name string) *Sparse[V] {
	if s := e.own[name]; s != nil {
		return s
	}
	return e.base[name].moved(e.moved)
}

// edit returns the edit's own copy of a column.
func (e *sparseEdit[V]) edit(name string) *Sparse[V] {
	s := e.own[name]
	if s == nil {
		s = &Sparse[V]{}
		if base := e.column(name); base != nil {
			s.Nodes, s.Values = slices.Clone(base.Nodes), slices.Clone(base.Values)
		}
		e.own[strings.Clone(name)] = s
	}
	return s
}

// add adds the values of a node behind all others. The first value of a name counts.
func (e *sparseEdit[V]) add(node uint32, values []named[V]) (added int32) {
	for _, v := range values {
		s := e.edit(v.name)
		if n := len(s.Nodes); n == 0 || s.Nodes[n-1] != node {
			s.Nodes, s.Values = append(s.Nodes, node), append(s.Values, v.value)
			added++
		}
	}
	return added
}

// replace replaces the values of a node, which had a number of them. The first value of a name counts.
func (e *sparseEdit[V]) replace(node uint32, had int32, values []named[V]) int32 {
	values = distinctNames(values)
	for _, v := range values {
		s := e.column(v.name)
		at, found := s.Find(node)
		if found {
			had--
		}
		if found && s.Values[at] == v.value {
			continue
		}
		if s = e.edit(v.name); found {
			s.Values[at] = v.value
		} else {
			s.Nodes, s.Values = slices.Insert(s.Nodes, at, node), slices.Insert(s.Values, at, v.value)
		}
	}
	if had > 0 {
		for name := range e.names() {
			if _, stays := slices.BinarySearchFunc(values, name, compareName); stays {
				continue
			}
			if at, found := e.column(name).Find(node); found {
				s := e.edit(name)
				s.Nodes, s.Values = slices.Delete(s.Nodes, at, at+1), slices.Delete(s.Values, at, at+1)
			}
		}
	}
	return int32(len(values))
}

// has returns 1 if a column has a value of a node, 0 otherwise.
func (e *sparseEdit[V]) has(name string, node uint32) int32 {
	if _, found := e.column(name).Find(node); found {
		return 1
	}
	return 0
}

// names returns the names of all columns as keys.
func (e *sparseEdit[V]) names() map[string]*Sparse[V] {
	all := make(map[string]*Sparse[V], len(e.base)+len(e.own))
	maps.Copy(all, e.base)
	maps.Copy(all, e.own)
	return all
}

// remove removes nodes. It takes the new indexes of all nodes, noNode for removed ones.
func (e *sparseEdit[V]) remove(now Moved) {
	for name, s := range e.own {
		if s = s.moved(now); s == nil {
			s = &Sparse[V]{}
		}
		e.own[name] = s
	}
	e.moved = e.moved.then(now)
}

// finish returns the columns that have values.
func (e *sparseEdit[V]) finish() map[string]*Sparse[V] {
	if e.moved != nil {
		for name := range e.base {
			e.edit(name)
		}
		e.moved = nil
	}
	if len(e.own) == 0 {
		return e.base
	}
	for name, s := range e.own {
		e.bytes += s.bytes(name) - e.base[name].bytes(name)
	}
	all := e.own
	if len(e.base) > 0 {
		all = e.names()
	}
	maps.DeleteFunc(all, func(_ string, s *Sparse[V]) bool { return len(s.Nodes) == 0 })
	return all
}

// finishMoved is finish for columns that are read with the removals since. With many names, it is a large part of a removal to move all columns.
func (e *sparseEdit[V]) finishMoved() (map[string]*Sparse[V], Moved) {
	if len(e.own) == 0 {
		return e.base, e.moved
	}
	return e.finish(), nil
}

// bytes estimates the memory of a column with a name, in a map; 0 for none.
func (s *Sparse[V]) bytes(name string) int64 {
	if s == nil || len(s.Nodes) == 0 {
		return 0
	}
	const entry = 32 // the name and the column
	return int64(float64(entry)*mapOverhead) + int64(len(name)) + 4*int64(cap(s.Nodes)) + int64(sizeOf[V]())*int64(cap(s.Values))
}
