package decode

import (
	"strconv"

	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"

	stowagev1 "github.com/stowage-scheduler/stowage/proto/stowage/v1"
)

// Unmarshal decodes a message and refuses fields that protobuf's decoders would lose: unknown fields, such as a constraint of a
// newer client, and numbers that are too large for their field, such as 2^32+1, which becomes 1 in a field of 32 bits. A decision
// must not ignore parts of a request, and a content must not have several encodings.
func Unmarshal(raw []byte, into proto.Message) error { return unmarshal(nil, raw, into) }

// unmarshal is Unmarshal for the message at a path.
func unmarshal(at *path, raw []byte, into proto.Message) error {
	if err := proto.Unmarshal(raw, into); err != nil {
		return err
	}
	var p problems
	p.refuseLost(at, raw, into)
	return p.err()
}

// refuseLost refuses the first field in a well-formed message that decoding loses.
func (p *problems) refuseLost(at *path, raw []byte, m proto.Message) {
	l := findLost(raw, m.ProtoReflect().Descriptor())
	if l == nil {
		return
	}
	var where path
	if l.path != "" {
		where = path{parent: at, name: l.path[1:]}
	} else if at != nil {
		where = *at
	}
	p.refuse(where, l.reason, "%s", l.description)
}

// lost is a field that decoding loses. Its path begins with a dot.
type lost struct {
	path, description string
	reason            stowagev1.ViolationReason
}

func unknown(number protowire.Number) *lost {
	return &lost{"", "unknown field " + strconv.Itoa(int(number)), unknownField}
}

// findLost returns the first field in a well-formed message that decoding loses, nil if there is none.
func findLost(raw []byte, m protoreflect.MessageDescriptor) *lost {
	fields := m.Fields()
	for at := 0; at < len(raw); {
		number, kind, n := protowire.ConsumeTag(raw[at:])
		size := protowire.ConsumeFieldValue(number, kind, raw[at+max(n, 0):])
		if n < 0 || size < 0 {
			return nil
		}
		f := fields.ByNumber(number)
		if f == nil || !isOfKind(f, kind) {
			return unknown(number)
		}
		value := raw[at+n : at+n+size]
		switch {
		case f.Message() != nil:
			inner, _ := protowire.ConsumeBytes(value)
			if l := findLost(inner, f.Message()); l != nil {
				l.path = "." + step(f, raw[:at], inner) + l.path
				return l
			}
		case kind == protowire.BytesType && f.Kind() != protoreflect.StringKind: // packed
			value, _ = protowire.ConsumeBytes(value)
			fallthrough
		case kind == protowire.VarintType:
			if v, fits := fitting(f.Kind(), value); !fits {
				return &lost{"." + string(f.Name()), "is " + strconv.FormatInt(v, 10) + ", which does not fit 32 bits", malformed}
			}
		}
		at += n + size
	}
	return nil
}

// isOfKind reports whether a field can have a wire type.
func isOfKind(f protoreflect.FieldDescriptor, kind protowire.Type) bool {
	if f.Message() != nil || f.Kind() == protoreflect.StringKind {
		return kind == protowire.BytesType
	}
	return kind == protowire.VarintType || kind == protowire.BytesType && f.IsList()
}

// fitting returns the first of encoded numbers that does not fit its field.
func fitting(kind protoreflect.Kind, numbers []byte) (v int64, fits bool) {
	for len(numbers) > 0 {
		v, n := protowire.ConsumeVarint(numbers)
		if n < 0 {
			return 0, true
		}
		switch kind {
		case protoreflect.EnumKind, protoreflect.Int32Kind:
			fits = uint64(int64(int32(v))) == v
		case protoreflect.Uint32Kind:
			fits = uint64(uint32(v)) == v
		default:
			fits = true
		}
		if !fits {
			return int64(v), false
		}
		numbers = numbers[n:]
	}
	return 0, true
}

// step is the step of a path to a message: a field, with the index in a list or the key in a map.
func step(f protoreflect.FieldDescriptor, before, inner []byte) string {
	name := string(f.Name())
	switch {
	case f.IsMap():
		return name + "[" + quote(keyOf(inner)) + "]"
	case !f.IsList():
		return name
	}
	i := 0
	for len(before) > 0 {
		n, _, size := protowire.ConsumeField(before)
		if n == f.Number() {
			i++
		}
		before = before[size:]
	}
	return name + "[" + strconv.Itoa(i) + "]"
}

func keyOf(entry []byte) (key string) {
	for len(entry) > 0 {
		number, kind, n := protowire.ConsumeTag(entry)
		size := protowire.ConsumeFieldValue(number, kind, entry[n:])
		if number == 1 && kind == protowire.BytesType {
			b, _ := protowire.ConsumeBytes(entry[n:])
			key = string(b)
		}
		entry = entry[n+size:]
	}
	return key
}
