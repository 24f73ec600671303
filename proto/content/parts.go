package content

import (
	"iter"

	"google.golang.org/protobuf/encoding/protowire"
)

// Items yields the canonical encodings of all items of the cluster, each with its field's number in stowage.v1.Cluster. Nodes come
// last: what they refer to precedes them.
func (c *Content) Items() iter.Seq2[protowire.Number, []byte] {
	return func(yield func(protowire.Number, []byte) bool) {
		for _, l := range []struct {
			field protowire.Number
			items *List
		}{
			{2, &c.templates},
			{5, &c.classes},
			{3, &c.namespaces},
			{4, &c.selectors},
			{budgetsField, &c.budgets},
			{1, &c.nodes},
		} {
			for _, item := range l.items.All {
				if !yield(l.field, item) {
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
		for field, item := range c.Items() {
			if len(part) >= PartBytes {
				if !yield(part) {
					return
				}
				part = make([]byte, 0, len(part)+PartBytes/8)
			}
			part = protowire.AppendBytes(protowire.AppendTag(part, field, protowire.BytesType), item)
		}
		yield(part)
	}
}
