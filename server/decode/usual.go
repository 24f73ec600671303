package decode

import (
	"bytes"
	"slices"

	"google.golang.org/protobuf/encoding/protowire"

	"github.com/stowage-scheduler/stowage/engine/api"
)

// usual decodes templates and classes that are sound and written in the usual way: canonically, but for the order of
// maps. It fails on all others, and takes nothing otherwise than the decoding of messages would. Going by messages costs
// several times as much, most of it for maps.
type usual struct {
	check                 decoder // only for what is wrong
	scalars, topologyKeys []string
	labelSlab             slab[api.Label]
	quantitySlab          slab[api.Quantity]

	// Of the list at hand.
	labelList    []rawLabel
	plainLabels  []api.Label
	quantityList []api.Quantity
	ordered      []byte
}

// slab hands out slices of larger allocations.
type slab[T any] struct{ taken []T }

// keep returns a copy of values, nil if there are none.
func (s *slab[T]) keep(values []T) []T {
	if len(values) == 0 {
		return nil
	}
	if len(values) > cap(s.taken)-len(s.taken) {
		s.taken = make([]T, 0, max(len(values), min(max(16, 2*cap(s.taken)), 256)))
	}
	n := len(s.taken)
	s.taken = append(s.taken, values...)
	return slices.Clip(s.taken[n:])
}

// begin makes a copy of an item to decode, which will be in canonical form.
func (u *usual) begin(raw []byte) (form []byte, s scan) {
	u.check.problems = problems{}
	u.scalars, u.topologyKeys = u.scalars[:0], u.topologyKeys[:0]
	form = bytes.Clone(raw)
	return form, scan{data: form}
}

func (u *usual) sound(s *scan) bool { return !s.bad && len(u.check.violations) == 0 }

func (u *usual) template(raw []byte) (_ *api.PodTemplate, form []byte, ok bool) {
	form, s := u.begin(raw)
	out := u.podTemplate(&s)
	return out, form, u.sound(&s)
}

func (u *usual) podTemplate(s *scan) *api.PodTemplate {
	out := &api.PodTemplate{Namespace: "default"}
	for last := uint64(0); s.more(); {
		switch s.next(&last, 0) {
		case sized(1):
			out.Namespace = s.text(MaxNamespaceBytes)
		case sized(2):
			out.Labels = u.labels(s, sized(2))
		case sized(3):
			u.controller(s, &out.Controller)
		case sized(4):
			u.podSpec(s, &out.Spec)
		default:
			s.fail()
		}
	}
	return out
}

func (u *usual) class(raw []byte) (_ *api.NodeClass, form []byte, ok bool) {
	form, s := u.begin(raw)
	out := new(api.NodeClass)
	for last := uint64(0); s.more(); {
		switch s.next(&last, 1<<2|1<<4|1<<5) {
		case sized(1):
			out.Labels = u.labels(&s, sized(1))
		case sized(2):
			out.Taints = append(out.Taints, u.taint(&s))
		case sized(3):
			out.Allocatable = u.resources(&s, true)
		case sized(4):
			out.Images = append(out.Images, u.image(&s))
		case sized(5):
			key := s.text(MaxLabelKeyBytes)
			out.NameLabelKeys = append(out.NameLabelKeys, key)
		default:
			s.fail()
		}
	}
	s.within(len(out.Taints), MaxTaints)
	s.within(len(out.Images), MaxImages)
	s.within(len(out.NameLabelKeys), MaxLabels)
	return out, form, u.sound(&s)
}

// sized and number are the tags of fields.
func sized(field uint64) uint64 { return field<<3 | uint64(protowire.BytesType) }

func number(field uint64) uint64 { return field<<3 | uint64(protowire.VarintType) }

// next reads a tag. Fields must be in order, and none twice but for those that may be repeated, a bit for each.
func (s *scan) next(last *uint64, repeated uint) uint64 {
	tag := s.varint()
	if field := tag >> 3; field < *last || field == *last && (field >= 64 || repeated>>field&1 == 0) {
		s.fail()
		return 0
	}
	*last = tag >> 3
	return tag
}

// nested begins the message that follows, done ends it.
func (s *scan) nested() scan { return scan{data: s.bytes()} }

func (s *scan) done(in *scan) {
	if in.bad {
		s.fail()
	}
}

func (s *scan) within(length, limit int) {
	if length > limit {
		s.fail()
	}
}

// text reads a string that is not left out where it is empty.
func (s *scan) text(longest int) string {
	t := s.string()
	if t == "" || len(t) > longest {
		s.fail()
	}
	return t
}

// int32 reads a number that may be 0, and nonzero one that is left out where it is 0.
func (s *scan) int32() int32 {
	v := s.varint()
	if uint64(int64(int32(v))) != v {
		s.fail()
	}
	return int32(v)
}

func (s *scan) nonzero() int32 {
	v := s.int32()
	if v == 0 {
		s.fail()
	}
	return v
}
