package content

import (
	"encoding/binary"
	"errors"
	"maps"
	"slices"
	"unicode/utf8"

	"google.golang.org/protobuf/encoding/protowire"
)

// encode.pb.go appends messages in the canonical encoding with the functions below. It is generated from the contract, as
// google.golang.org/protobuf writes oneofs last and is several times slower. TestCanonical compares it with the descriptors.

// encoder appends to a buffer.
type encoder struct {
	b    []byte
	keys []string // reused for the keys of maps
	err  error
}

func (e *encoder) uint(field protowire.Number, v uint64) {
	e.b = protowire.AppendTag(e.b, field, protowire.VarintType)
	e.b = protowire.AppendVarint(e.b, v)
}

func (e *encoder) varint(field protowire.Number, v int64) {
	if v != 0 {
		e.uint(field, uint64(v))
	}
}

func (e *encoder) bool(field protowire.Number, v bool) {
	if v {
		e.uint(field, 1)
	}
}

// int64 appends a number, also 0.
func (e *encoder) int64(field protowire.Number, v int64) { e.uint(field, uint64(v)) }

func optional[T ~int32 | uint32 | int64](e *encoder, field protowire.Number, v *T) {
	if v != nil {
		e.uint(field, uint64(*v))
	}
}

// text appends a string, also an empty one.
func (e *encoder) text(field protowire.Number, s string) {
	if !utf8.ValidString(s) {
		e.err = errors.New("contains invalid UTF-8")
	}
	e.b = protowire.AppendTag(e.b, field, protowire.BytesType)
	e.b = protowire.AppendString(e.b, s)
}

func (e *encoder) string(field protowire.Number, s string) {
	if s != "" {
		e.text(field, s)
	}
}

func (e *encoder) strings(field protowire.Number, list []string) {
	for _, s := range list {
		e.text(field, s)
	}
}

// lengthDelimited appends a field whose value is what body appends.
func (e *encoder) lengthDelimited(field protowire.Number, body func()) {
	e.b = protowire.AppendTag(e.b, field, protowire.BytesType)
	start := len(e.b)
	e.b = append(e.b, 0)
	body()
	size := len(e.b) - start - 1
	if more := protowire.SizeVarint(uint64(size)) - 1; more > 0 {
		e.b = slices.Insert(e.b, start, make([]byte, more)...)
	}
	binary.PutUvarint(e.b[start:], uint64(size))
}

// nested appends a message field; nil counts as an empty message.
func nested[M any](e *encoder, field protowire.Number, m *M, write func(*encoder, *M)) {
	e.lengthDelimited(field, func() {
		if m != nil {
			write(e, m)
		}
	})
}

// one appends a message field unless it is nil.
func one[M any](e *encoder, field protowire.Number, m *M, write func(*encoder, *M)) {
	if m != nil {
		nested(e, field, m, write)
	}
}

// each appends a repeated message field.
func each[M any](e *encoder, field protowire.Number, list []*M, write func(*encoder, *M)) {
	for _, m := range list {
		nested(e, field, m, write)
	}
}

// entries appends a map in the order of its keys.
func entries[V any](e *encoder, field protowire.Number, m map[string]V, write func(protowire.Number, V)) {
	e.keys = slices.AppendSeq(e.keys[:0], maps.Keys(m))
	slices.Sort(e.keys)
	for _, key := range e.keys {
		e.lengthDelimited(field, func() {
			e.text(1, key)
			write(2, m[key])
		})
	}
}
