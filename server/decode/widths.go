package decode

import (
	"math"
	"strconv"

	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"

	stowagev1 "github.com/stowage-scheduler/stowage/proto/stowage/v1"
)

// Unmarshal decodes a message whose numbers fit their fields. Protobuf decoders cut a number that is too large for its
// field: 2^32+1 becomes 1 in a field of 32 bits. What a client wrote would then not be what is decided about, and one
// content would have several encodings, so such a number is refused with its path.
func Unmarshal(raw []byte, into proto.Message) error {
	if err := proto.Unmarshal(raw, into); err != nil {
		return err
	}
	var p problems
	p.refuseMisfit(nil, raw, into)
	return p.err()
}

// refuseMisfit refuses the first number in an encoded message that does not fit its field, and reports whether there is one.
func (p *problems) refuseMisfit(at *path, raw []byte, m proto.Message) bool {
	s, known := shapes[m.ProtoReflect().Descriptor().FullName()]
	if !known {
		panic("decode: " + string(m.ProtoReflect().Descriptor().FullName()) + " is in no request")
	}
	field, value := s.misfit(raw)
	if field == "" {
		return false
	}
	p.refuse(path{parent: at, name: field}, "is %d, which does not fit 32 bits", int64(value))
	return true
}

// shape says which fields of a message are numbers of 32 bits or have some inside. It is nil if there are none.
type shape struct{ fields []shapeField } // by number

type shapeField struct {
	name     string
	repeated bool
	fits     func(uint64) bool // of a number
	message  *shape
}

// shapes are those of all messages that requests have.
var shapes = func() map[protoreflect.FullName]*shape {
	all := make(map[protoreflect.FullName]*shape)
	for _, m := range []proto.Message{
		(*stowagev1.FilterRequest)(nil), (*stowagev1.ScoreRequest)(nil), (*stowagev1.PlaceRequest)(nil),
		(*stowagev1.PlaceStreamRequest)(nil), (*stowagev1.ScaleDownRequest)(nil), (*stowagev1.PutSnapshotRequest)(nil),
	} {
		shapeOf(m.ProtoReflect().Descriptor(), all)
	}
	return all
}()

func shapeOf(m protoreflect.MessageDescriptor, all map[protoreflect.FullName]*shape) *shape {
	if s, ok := all[m.FullName()]; ok {
		return s
	}
	s := new(shape)
	all[m.FullName()] = s
	narrow := false
	for i := range m.Fields().Len() {
		d := m.Fields().Get(i)
		f := shapeField{name: string(d.Name()), repeated: d.IsList() || d.IsMap()}
		switch d.Kind() {
		case protoreflect.EnumKind, protoreflect.Int32Kind:
			f.fits = func(v uint64) bool { return uint64(int64(int32(v))) == v }
		case protoreflect.Uint32Kind:
			f.fits = func(v uint64) bool { return v <= math.MaxUint32 }
		case protoreflect.MessageKind:
			f.message = shapeOf(d.Message(), all)
		}
		if f.fits == nil && f.message == nil {
			continue
		}
		narrow = true
		for len(s.fields) <= int(d.Number()) {
			s.fields = append(s.fields, shapeField{})
		}
		s.fields[d.Number()] = f
	}
	if !narrow {
		s = nil
		all[m.FullName()] = nil
	}
	return s
}

// misfit returns the path and the value of the first number in a well-formed message that does not fit its field.
func (s *shape) misfit(raw []byte) (path string, value uint64) {
	if s == nil {
		return "", 0
	}
	for at := 0; at < len(raw); {
		number, kind, n := protowire.ConsumeTag(raw[at:])
		size := protowire.ConsumeFieldValue(number, kind, raw[at+max(n, 0):])
		if n < 0 || size < 0 {
			return "", 0
		}
		if int(number) < len(s.fields) {
			f := &s.fields[number]
			if inner, value := f.misfit(kind, raw[at+n:at+n+size]); inner != "" {
				return f.step(number, raw[:at]) + inner[1:], value
			}
		}
		at += n + size
	}
	return "", 0
}

// misfit returns the rest of the path after the field's step, behind a space.
func (f *shapeField) misfit(kind protowire.Type, raw []byte) (rest string, value uint64) {
	switch {
	case kind == protowire.VarintType && f.fits != nil:
		if v, _ := protowire.ConsumeVarint(raw); !f.fits(v) {
			return " ", v
		}
	case kind == protowire.BytesType && f.message != nil:
		inner, _ := protowire.ConsumeBytes(raw)
		if path, v := f.message.misfit(inner); path != "" {
			return " ." + path, v
		}
	case kind == protowire.BytesType && f.fits != nil && f.repeated: // packed
		inner, _ := protowire.ConsumeBytes(raw)
		for len(inner) > 0 {
			v, n := protowire.ConsumeVarint(inner)
			if n < 0 {
				return "", 0
			}
			if !f.fits(v) {
				return " ", v
			}
			inner = inner[n:]
		}
	}
	return "", 0
}

// step is the field in a path, with the place among the elements of a list.
func (f *shapeField) step(number protowire.Number, before []byte) string {
	if !f.repeated || f.message == nil {
		return f.name
	}
	i := 0
	for len(before) > 0 {
		n, _, size := protowire.ConsumeField(before)
		if n == number {
			i++
		}
		before = before[size:]
	}
	return f.name + "[" + strconv.Itoa(i) + "]"
}
