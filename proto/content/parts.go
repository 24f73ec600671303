package content

import (
	"iter"

	"google.golang.org/protobuf/encoding/protowire"
)

// Items yields the canonical encodings of all items of the cluster, each with its field's number in stowage.v1.Cluster. Nodes come
// last: what they refer to precedes them.
func (c *Content) Items() iter.Seq2[protowire.Number, []byte] {
	return func(yield func(protowire.Number, []byte) bool) {
		for number := range nodesLast {
			for _, item := range c.lists[number].All {
				if !yield(number, item) {
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
