package content

import (
	"cmp"
	"iter"

	"google.golang.org/protobuf/encoding/protowire"
)

// value is an encoded field's value.
type value struct {
	varint uint64
	bytes  []byte
}

// fields yields the varint and length-delimited fields of an encoded message. It stops at malformed input.
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

// nameOf returns field 1 if it is the first field: the name of a node, namespace or pod group, the namespace of a pod template.
func nameOf(item []byte) []byte {
	field := nameField(item)
	if field == nil {
		return nil
	}
	name, _ := protowire.ConsumeBytes(field[1:])
	return name
}

// nameField returns the encoded field 1, nil if it is absent.
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

// Field numbers of Node.
const (
	podCountsField     = 7
	nodePodsField      = 8
	classIndexField    = 9
	nominatedPodsField = 10
)

// references calls template and class with the indexes that a node, which may be packed, refers to.
func references(node []byte, template, class func(uint32)) {
	if packed(node) {
		node = node[1:]
	}
	for number, v := range fields(node) {
		switch number {
		case podCountsField:
			var index uint64 // the encoding omits 0
			for number, v := range fields(v.bytes) {
				if number == 1 {
					index = v.varint
				}
			}
			template(uint32(index))
		case nodePodsField, nominatedPodsField:
			for number, v := range fields(v.bytes) {
				if number == 2 {
					template(uint32(v.varint))
				}
			}
		case classIndexField:
			class(uint32(v.varint))
		}
	}
}

// nominatedPods counts the nominated pods of a node, which may be packed.
func nominatedPods(node []byte) (n int) {
	if packed(node) {
		node = node[1:]
	}
	for number := range fields(node) {
		if number == nominatedPodsField {
			n++
		}
	}
	return n
}

// identity is the unique key of an item that is no node, template or class. Canonical order is by identity.
type identity struct {
	kind            int32
	namespace, name string
}

func (a identity) compare(b identity) int {
	return cmp.Or(cmp.Compare(a.kind, b.kind), cmp.Compare(a.namespace, b.namespace), cmp.Compare(a.name, b.name))
}

// namedIdentity is the identity of an object without a namespace.
func namedIdentity(item []byte) identity { return identity{name: string(nameOf(item))} }

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

// namespacedIdentity is the identity of an object with a namespace.
func namespacedIdentity(item []byte) identity {
	id := identity{namespace: defaultNamespace}
	for number, v := range fields(item) {
		switch number {
		case 1:
			id.namespace = string(v.bytes)
		case 2:
			id.name = string(v.bytes)
		}
	}
	return id
}

// defaultNamespace is the namespace of objects that have none.
const defaultNamespace = "default"
