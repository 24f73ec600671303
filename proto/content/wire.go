package content

import (
	"cmp"
	"iter"

	"google.golang.org/protobuf/encoding/protowire"
)

// value is a field's value on the wire.
type value struct {
	varint uint64
	bytes  []byte
}

// fields yields the fields of an encoded message that are varints or have a length, up to where it is malformed.
func fields(b []byte) iter.Seq2[protowire.Number, value] {
	return func(yield func(protowire.Number, value) bool) {
		for len(b) > 0 {
			number, kind, n := protowire.ConsumeTag(b)
			if n < 0 {
				return
			}
			b = b[n:]
			var v value
			switch kind {
			case protowire.VarintType:
				v.varint, n = protowire.ConsumeVarint(b)
			case protowire.BytesType:
				v.bytes, n = protowire.ConsumeBytes(b)
			default:
				return
			}
			if n < 0 || !yield(number, v) {
				return
			}
			b = b[n:]
		}
	}
}

// nameOf returns the name of a node or a namespace, or the namespace of a pod template: field 1, first if it is there.
func nameOf(item []byte) []byte {
	field := nameField(item)
	if field == nil {
		return nil
	}
	name, _ := protowire.ConsumeBytes(field[1:])
	return name
}

// nameField returns the field of the name, nil if there is none.
func nameField(item []byte) []byte {
	if packed(item) {
		item = item[1:]
	}
	if len(item) == 0 || item[0] != 1<<3|byte(protowire.BytesType) {
		return nil
	}
	_, n := protowire.ConsumeBytes(item[1:])
	if n < 0 {
		return nil
	}
	return item[:1+n]
}

// usage yields the indexes of the templates and classes that a node refers to, which may be packed.
func usage(node []byte, template, class func(uint32)) {
	if packed(node) {
		node = node[1:]
	}
	for number, v := range fields(node) {
		switch number {
		case 7: // pod_counts
			var index uint64 // left out where it is 0
			for number, v := range fields(v.bytes) {
				if number == 1 {
					index = v.varint
				}
			}
			template(uint32(index))
		case 8: // pods
			for number, v := range fields(v.bytes) {
				if number == 2 {
					template(uint32(v.varint))
				}
			}
		case 9: // class_index
			class(uint32(v.varint))
		}
	}
}

// identity is what tells namespaces, or workload selectors, from each other, and orders them.
type identity struct {
	kind            int32
	namespace, name string
}

func (a identity) compare(b identity) int {
	return cmp.Or(cmp.Compare(a.kind, b.kind), cmp.Compare(a.namespace, b.namespace), cmp.Compare(a.name, b.name))
}

func namespaceIdentity(item []byte) identity { return identity{name: string(nameOf(item))} }

func selectorIdentity(item []byte) identity {
	id := identity{namespace: defaultNamespace}
	for number, v := range fields(item) {
		switch number {
		case 1:
			id.kind = int32(v.varint)
		case 2:
			id.namespace = string(v.bytes)
		case 3:
			id.name = string(v.bytes)
		}
	}
	return id
}

// defaultNamespace is the namespace of what states none.
const defaultNamespace = "default"
