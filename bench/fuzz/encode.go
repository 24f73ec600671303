package main

import (
	"math/rand/v2"

	"google.golang.org/grpc/mem"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/reflect/protoreflect"
)

// cut cuts bytes into frames, each in memory of its own that ends where it ends.
func cut(raw []byte, rng *rand.Rand) mem.BufferSlice {
	var frames mem.BufferSlice
	for len(raw) > 0 {
		n := 1 + rng.IntN(len(raw))
		if rng.IntN(2) == 0 {
			n = min(n, 1+rng.IntN(40))
		}
		frames = append(frames, mem.SliceBuffer(append(make([]byte, 0, n), raw[:n]...)))
		raw = raw[n:]
	}
	return frames
}

// unusual encodes a message in another way that protobuf decodes to the same message: fields in another order, numbers longer than
// they need to be, messages in two parts. raw is well-formed.
func unusual(raw []byte, of protoreflect.MessageDescriptor, rng *rand.Rand) []byte {
	type field struct {
		of    int // the fields of one of them keep their order
		bytes []byte
	}
	var fields []field
	for len(raw) > 0 {
		number, kind, n := protowire.ConsumeTag(raw)
		size := protowire.ConsumeFieldValue(number, kind, raw[n:])
		whole, value := raw[:n+size], raw[n:n+size]
		raw = raw[n+size:]
		f := of.Fields().ByNumber(number)
		order := int(number)
		if f == nil || !f.IsPacked() && kind != wireTypeOf(f.Kind()) {
			// protobuf keeps the bytes of fields that it does not know, and of fields of another type, in their order.
			fields = append(fields, field{0, whole})
			continue
		}
		if f.ContainingOneof() != nil {
			order = -1 - f.ContainingOneof().Index()
		}
		tag := protowire.EncodeTag(number, kind)
		if kind != protowire.BytesType {
			if kind == protowire.VarintType {
				v, _ := protowire.ConsumeVarint(value)
				value = varint(nil, v, rng)
			}
			fields = append(fields, field{order, append(varint(nil, tag, rng), value...)})
			continue
		}
		inner, _ := protowire.ConsumeBytes(value)
		parts := [][]byte{inner}
		if f.Message() != nil && wellFormed(inner) {
			inner = unusual(inner, f.Message(), rng)
			parts[0] = inner
			if !f.IsList() && !f.IsMap() && rng.IntN(4) == 0 {
				at := boundary(inner, rng)
				parts = [][]byte{inner[:at], inner[at:]}
			}
		}
		for _, part := range parts {
			fields = append(fields, field{order, append(varint(varint(nil, tag, rng), uint64(len(part)), rng), part...)})
		}
	}
	// A random merge of the runs of equal order.
	byOrder := make(map[int][]field)
	var left []int
	for _, f := range fields {
		byOrder[f.of] = append(byOrder[f.of], f)
		left = append(left, f.of)
	}
	rng.Shuffle(len(left), func(i, j int) { left[i], left[j] = left[j], left[i] })
	var out []byte
	for _, of := range left {
		out = append(out, byOrder[of][0].bytes...)
		byOrder[of] = byOrder[of][1:]
	}
	return out
}

// wireTypeOf returns the type of the encoding of fields that the contract has.
func wireTypeOf(k protoreflect.Kind) protowire.Type {
	switch k {
	case protoreflect.StringKind, protoreflect.BytesKind, protoreflect.MessageKind:
		return protowire.BytesType
	case protoreflect.DoubleKind:
		return protowire.Fixed64Type
	case protoreflect.FloatKind:
		return protowire.Fixed32Type
	}
	return protowire.VarintType
}

// varint appends a number, at times with more bytes than it needs.
func varint(to []byte, v uint64, rng *rand.Rand) []byte {
	to = protowire.AppendVarint(to, v)
	if more := rng.IntN(12) - 9; more > 0 && protowire.SizeVarint(v)+more <= 5 {
		to[len(to)-1] |= 0x80
		for range more - 1 {
			to = append(to, 0x80)
		}
		to = append(to, 0)
	}
	return to
}

// wellFormed reports whether bytes are fields.
func wellFormed(raw []byte) bool {
	for len(raw) > 0 {
		_, _, n := protowire.ConsumeField(raw)
		if n < 0 {
			return false
		}
		raw = raw[n:]
	}
	return true
}

// boundary returns the end of a random field.
func boundary(raw []byte, rng *rand.Rand) int {
	ends := []int{0}
	for at := 0; at < len(raw); {
		_, _, n := protowire.ConsumeField(raw[at:])
		at += n
		ends = append(ends, at)
	}
	return ends[rng.IntN(len(ends))]
}

// corrupt changes bytes of an encoded message.
func corrupt(raw []byte, rng *rand.Rand) []byte {
	raw = append([]byte(nil), raw...)
	if len(raw) == 0 {
		return []byte{byte(rng.Uint32())}
	}
	for range 1 + rng.IntN(3) {
		at := rng.IntN(len(raw))
		switch rng.IntN(5) {
		case 0:
			raw[at] ^= 1 << rng.IntN(8)
		case 1:
			raw[at] = byte(rng.Uint32())
		case 2:
			raw = append(raw[:at], raw[min(len(raw), at+1+rng.IntN(8)):]...)
		case 3:
			piece := append([]byte(nil), raw[at:min(len(raw), at+1+rng.IntN(40))]...)
			raw = append(raw[:at], append(piece, raw[at:]...)...)
		case 4:
			raw = raw[:at+1]
		}
		if len(raw) == 0 {
			return raw
		}
	}
	return raw
}
