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
		if rest, ok := joined(c.Items(), yield); ok {
			yield(rest)
		}
	}
}

// joined yields the parts of items but the last one, which it returns unless yield returns false.
func joined(items iter.Seq2[protowire.Number, []byte], yield func([]byte) bool) (last []byte, ok bool) {
	for number, item := range items {
		if len(last) >= PartBytes {
			if !yield(last) {
				return nil, false
			}
			last = make([]byte, 0, len(last)+PartBytes/8)
		}
		last = protowire.AppendBytes(protowire.AppendTag(last, number, protowire.BytesType), item)
	}
	return last, true
}

// Page identifies a run of items of one field: pages that are equal have equal items. Contents that differ in few items share most pages.
type Page struct {
	Field  protowire.Number
	Digest Digest
}

// Pages yields all pages in the order of Items, each with what yields its parts. Like Parts, they have about PartBytes.
func (c *Content) Pages() iter.Seq2[Page, iter.Seq[[]byte]] {
	return func(yield func(Page, iter.Seq[[]byte]) bool) {
		for _, f := range c.fields() {
			for i, p := range f.items.pages {
				items := func(yield func(protowire.Number, []byte) bool) {
					for j := range p.items {
						if !yield(f.number, f.items.At(i*pageSize+j)) {
							return
						}
					}
				}
				all := func(yield func([]byte) bool) {
					if rest, ok := joined(items, yield); ok && len(rest) > 0 {
						yield(rest)
					}
				}
				if len(p.items) > 0 && !yield(Page{f.number, p.digest}, all) {
					return
				}
			}
		}
	}
}
