package main

import (
	"iter"
	"math"
	"slices"

	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
)

// spoil changes a field somewhere in a message: to an extreme value, to nothing, to an element twice, to one that the contract does
// not have.
func (d *drawer) spoil(m protoreflect.Message) {
	m = pick(d, slices.Collect(messages(m)))
	fields := m.Descriptor().Fields()
	if d.chance(20) || fields.Len() == 0 {
		m.SetUnknown(protowire.AppendVarint(protowire.AppendTag(nil, 1999, protowire.VarintType), 1))
		return
	}
	f := fields.Get(d.IntN(fields.Len()))
	switch {
	case d.chance(4):
		m.Clear(f)
	case f.IsMap():
		if f.MapValue().Kind() == protoreflect.Int64Kind {
			m.Mutable(f).Map().Set(protoreflect.ValueOfString(pick(d, []string{"", "cpu", "pods", "a b", "x"})).MapKey(),
				protoreflect.ValueOfInt64(int64(pick(d, extremes))))
			return
		}
		m.Mutable(f).Map().Set(protoreflect.ValueOfString(d.odd()).MapKey(), protoreflect.ValueOfString(d.odd()))
	case f.IsList():
		into := m.Mutable(f).List()
		if n := into.Len(); n > 0 && d.chance(2) {
			i, j := d.IntN(n), d.IntN(n)
			a, b := into.Get(i), into.Get(j)
			if f.Message() != nil {
				a, b = copied(a), copied(b)
			}
			if d.chance(2) {
				into.Set(i, b)
			}
			into.Set(j, a)
			return
		}
		if f.Message() != nil {
			d.message(into.AppendMutable().Message(), 3)
		} else {
			into.Append(d.extreme(f))
		}
	case f.Message() != nil:
		d.message(m.Mutable(f).Message(), 3)
	default:
		m.Set(f, d.extreme(f))
	}
}

func copied(v protoreflect.Value) protoreflect.Value {
	return protoreflect.ValueOfMessage(proto.Clone(v.Message().Interface()).ProtoReflect())
}

func (d *drawer) odd() string {
	return pick(d, []string{"", "a b", "-x", "é", "app", zone, hostname, "\x00", string(make([]byte, 400))})
}

func (d *drawer) extreme(f protoreflect.FieldDescriptor) protoreflect.Value {
	switch f.Kind() {
	case protoreflect.BoolKind:
		return protoreflect.ValueOfBool(d.chance(2))
	case protoreflect.EnumKind:
		return protoreflect.ValueOfEnum(pick(d, []protoreflect.EnumNumber{-1, 0, 1, 2, 99, math.MaxInt32}))
	case protoreflect.StringKind:
		return protoreflect.ValueOfString(d.odd())
	case protoreflect.BytesKind:
		return protoreflect.ValueOfBytes(nil)
	}
	return number(f.Kind(), pick(d, extremes))
}

// messages iterates over a message and those in it, in the order of the descriptor: Range has another one in each binary.
func messages(m protoreflect.Message) iter.Seq[protoreflect.Message] {
	return func(yield func(protoreflect.Message) bool) { each(m, yield) }
}

func each(m protoreflect.Message, yield func(protoreflect.Message) bool) (more bool) {
	if !yield(m) {
		return false
	}
	more = true
	fields := m.Descriptor().Fields()
	for i := 0; more && i < fields.Len(); i++ {
		f := fields.Get(i)
		switch {
		case f.Message() == nil || f.IsMap() || !m.Has(f):
		case f.IsList():
			list := m.Get(f).List()
			for j := 0; more && j < list.Len(); j++ {
				more = each(list.Get(j).Message(), yield)
			}
		default:
			more = each(m.Get(f).Message(), yield)
		}
	}
	return more
}
