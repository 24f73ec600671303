package content

import (
	"iter"

	"google.golang.org/protobuf/encoding/protowire"
)

// field is a list with the number of its field in stowage.v1.Cluster.
type field struct {
	number protowire.Number
	items  *List
}

// fields returns the lists in an order in which nodes come last: what they refer to precedes them.
func (c *Content) fields() [7]field {
	return [...]field{
		{2, &c.templates}, {5, &c.classes}, {3, &c.namespaces}, {4, &c.selectors}, {budgetsField, &c.budgets},
		{groupsField, &c.groups}, {1, &c.nodes},
	}
}

// Items yields the canonical encodings of all items of the cluster, each with its field's number in stowage.v1.Cluster. Nodes come
// last: what they refer to precedes them.
func (c *Content) Items() iter.Seq2[protowire.Number, []byte] {
	return func(yield func(protowire.Number, []byte) bool) {
		for _, f := range c.fields() {
			for _, item := range f.items.All {
				if !yield(f.number, item) {
					return
				}
			}
		}
	}
}

// PartBytes is about the size of Parts.
const PartBytes = 1 << 20

// Parts yields encodings of stowage.v1.Cluster whose concatenation has the content, in canonical form, which a server decodes fastest.
// Each has about PartBytes, or is a single larger item. There is at least one part.
func (c *Content) Parts() iter.Seq[[]byte] {
	return func(yield func([]byte) bool) {
		var part []byte
		for number, item := range c.Items() {
			if len(part) >= PartBytes {
				if !yield(part) {
					return
				}
				part = make([]byte, 0, len(part)+PartBytes/8)
			}
			part = protowire.AppendBytes(protowire.AppendTag(part, number, protowire.BytesType), item)
		}
		yield(part)
	}
}
