package cluster

import (
	"encoding/binary"

	"github.com/stowage-scheduler/stowage/engine/api"
	"github.com/stowage-scheduler/stowage/engine/internal/nodeset"
)

// Field is a field of nodes in which many nodes are equal, such as their taints. Everything that the package does with such a field
// follows from these functions.
type Field[T any] struct {
	// Of returns the value of a node of a class. It may share memory with both.
	Of func(class *api.NodeClass, n *api.Node) T
	// Key appends a key that distinguishes the value from others. The value of nodes without the field has an empty key.
	Key func(b []byte, v T) []byte
	// Clone returns a value that shares no memory with the input.
	Clone func(T) T
	// Like returns the value of a new node that is like one with a value.
	Like func(T) T
}

// AnyField is a Field of any type.
type AnyField interface{ column() numbered }

// fields are the fields of all clusters. TestFieldsAreListed fails for one that is missing.
var fields = []AnyField{taints, declaredFeatures, csiNodes, attached}

// numbered is the column of a field: of each node the number of its value.
type numbered interface {
	pages
	numbers() *column[int32]
	// number returns the number of a node's value. like returns the number for a new node modelled on a node with a value. A new value
	// gets a new number.
	number(class *api.NodeClass, n *api.Node) int32
	like(number int32) int32
	// derive returns the column of a derived cluster.
	derive() numbered
	// values returns how many distinct values there are, and describedSince the memory of those from a number on.
	values() int
	describedSince(number int) int64
}

// values is the column of a field.
type values[T any] struct {
	column[int32]
	distinct[T]
	of *Field[T]
}

// column returns the field's column of no nodes.
func (f *Field[T]) column() numbered {
	return &values[T]{distinct: distinct[T]{list: make([]T, 1), key: f.Key}, of: f}
}

func (v *values[T]) numbers() *column[int32] { return &v.column }

func (v *values[T]) number(class *api.NodeClass, n *api.Node) int32 {
	return v.find(v.of.Of(class, n), v.of.Clone)
}

func (v *values[T]) like(number int32) int32 {
	return v.find(v.of.Like(v.list[number]), func(of T) T { return of })
}

func (v *values[T]) derive() numbered {
	d := &values[T]{column: v.column, distinct: v.distinct.derive(), of: v.of}
	d.share()
	return d
}

func (v *values[T]) values() int { return len(v.list) }

func (v *values[T]) describedSince(number int) (bytes int64) {
	s := newSizes()
	for _, value := range v.list[number:] {
		bytes += s.of(&value)
	}
	return bytes
}

// valuesOf returns the column of a field.
func valuesOf[T any](c *Cluster, f *Field[T]) *values[T] {
	for _, column := range c.fields {
		if v, ok := column.(*values[T]); ok && v.of == f {
			return v
		}
	}
	panic("cluster: a Field is not in the list fields")
}

// Values returns the distinct values of a field, by number. They must not be changed.
func Values[T any](c *Cluster, f *Field[T]) []T { return valuesOf(c, f).list }

// Numbers returns a function that returns the number of the value of a node. To look the field up takes longer than that.
func Numbers[T any](c *Cluster, f *Field[T]) func(node uint32) int32 {
	v := valuesOf(c, f)
	return func(node uint32) int32 { return *v.at(node) }
}

// Value returns the value of a node. It must not be changed.
func Value[T any](c *Cluster, f *Field[T], node uint32) T {
	v := valuesOf(c, f)
	return v.list[*v.at(node)]
}

// Having returns the nodes for the number of whose value the table has 1; its other entries must be 0.
func Having[T any](c *Cluster, f *Field[T], table []uint8) nodeset.Set {
	v := valuesOf(c, f)
	nodes := make(nodeset.Set, len(v.pages))
	for i, p := range v.pages {
		var word uint64
		for at, number := range p {
			word |= uint64(table[number]) << (at % PageNodes)
		}
		nodes[i] = word
	}
	return nodes.Cut(c.Len())
}

// AppendFields appends a key of the fields of a node. Nodes with equal keys are equal in all of them.
func (c *Cluster) AppendFields(b []byte, node uint32) []byte {
	for _, f := range c.fields {
		b = binary.AppendUvarint(b, uint64(*f.numbers().at(node)))
	}
	return b
}
