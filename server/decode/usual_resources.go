package decode

import (
	"math"
	"slices"
	"strings"

	"google.golang.org/protobuf/encoding/protowire"

	"github.com/stowage-scheduler/stowage/engine/api"
	stowagev1 "github.com/stowage-scheduler/stowage/proto/stowage/v1"
)

// labels reads a map of labels whose first tag has been read, and puts it in order.
func (u *usual) labels(s *scan, tag uint64) api.Labels {
	from := s.at
	u.labelList = u.labelList[:0]
	for {
		at := s.at
		key, value, ok := s.label()
		if !ok {
			s.fail()
			return nil
		}
		u.labelList = append(u.labelList, rawLabel{api.Label{Key: key, Value: value}, s.since(at)})
		if !s.skip(tag) {
			break
		}
	}
	inOrder, unique := u.order(s.data[from:], tag)
	if !unique || len(u.labelList) > MaxLabels {
		s.fail()
		return nil
	}
	if !inOrder {
		again := scan{data: s.data, at: from}
		for i := range u.labelList {
			l := &u.labelList[i]
			l.Key, l.Value, _ = again.label()
			again.skip(tag)
		}
	}
	u.plainLabels = u.plainLabels[:0]
	for i := range u.labelList {
		u.plainLabels = append(u.plainLabels, u.labelList[i].Label)
	}
	return u.labelSlab.keep(u.plainLabels)
}

// order puts a map's entries, which begin at from, in the order of their keys, and reports whether they were so before,
// and whether the keys are unique.
func (u *usual) order(from []byte, tag uint64) (before, unique bool) {
	before, unique = sortLabels(u.labelList)
	if before || !unique {
		return before, unique
	}
	u.ordered = u.ordered[:0]
	for i := range u.labelList {
		u.ordered = append(append(u.ordered, u.labelList[i].field...), byte(tag))
	}
	copy(from, u.ordered[:len(u.ordered)-1])
	return false, true
}

// resources reads amounts of resources.
func (u *usual) resources(s *scan, ofNode bool) api.Resources {
	names := [...]string{1: api.ResourceCPU, 2: api.ResourceMemory, 3: api.ResourceEphemeralStorage, 4: api.ResourcePods}
	u.quantityList = u.quantityList[:0]
	in := s.nested()
	for last := uint64(0); in.more(); {
		switch tag := in.next(&last, 0); tag {
		case number(1), number(2), number(3), number(4):
			if amount := in.varint(); tag != number(4) || ofNode {
				u.quantity(&in, names[tag>>3], amount)
			}
		case sized(5):
			u.scalarEntries(&in)
		default:
			in.fail()
		}
	}
	s.done(&in)
	if len(u.quantityList) == 0 {
		return api.Resources{}
	}
	slices.SortFunc(u.quantityList, func(a, b api.Quantity) int { return strings.Compare(a.Resource, b.Resource) })
	return u.quantitySlab.keep(u.quantityList)
}

func (u *usual) quantity(s *scan, resource string, amount uint64) {
	if amount > math.MaxInt64 {
		s.fail()
	}
	u.quantityList = append(u.quantityList, api.Quantity{Resource: resource, Amount: int64(amount)})
}

// scalarEntries reads a map of scalars whose first tag has been read, and puts it in order.
func (u *usual) scalarEntries(s *scan) {
	from := s.at
	u.labelList = u.labelList[:0]
	for {
		at := s.at
		entry := s.nested()
		name := entry.mapKey()
		if s.done(&entry); s.bad || name == "" || hasField(name) {
			s.fail()
			return
		}
		u.labelList = append(u.labelList, rawLabel{api.Label{Key: name}, s.since(at)})
		if !s.skip(sized(5)) {
			break
		}
	}
	if _, unique := u.order(s.data[from:], sized(5)); !unique {
		s.fail()
	}
	again := scan{data: s.data, at: from}
	for range u.labelList {
		entry := again.nested()
		name := entry.mapKey()
		entry.valueTag(protowire.VarintType)
		u.quantity(s, name, entry.varint())
		if entry.bad || entry.more() {
			s.fail()
		}
		u.scalars = append(u.scalars, name)
		again.skip(sized(5))
	}
}

func (u *usual) taint(s *scan) (out api.Taint) {
	in := s.nested()
	effect := stowagev1.TaintEffect_TAINT_EFFECT_UNSPECIFIED
	for last := uint64(0); in.more(); {
		switch in.next(&last, 0) {
		case sized(1):
			out.Key = in.text(MaxLabelKeyBytes)
		case sized(2):
			out.Value = in.text(MaxLabelValueBytes)
		case number(3):
			effect = stowagev1.TaintEffect(in.nonzero())
		default:
			in.fail()
		}
	}
	var ok bool
	if out.Effect, ok = taintEffect(effect); !ok || out.Effect == api.EveryEffect || out.Key == "" {
		in.fail()
	}
	s.done(&in)
	return out
}

func (u *usual) image(s *scan) (out api.Image) {
	in := s.nested()
	for last := uint64(0); in.more(); {
		switch in.next(&last, 1<<1) {
		case sized(1):
			out.Names = append(out.Names, in.string())
		case number(2):
			size := in.varint()
			if size == 0 || size > MaxImageBytes {
				in.fail()
			}
			out.SizeBytes = int64(size)
		default:
			in.fail()
		}
	}
	in.within(len(out.Names), MaxImageNames)
	s.done(&in)
	return out
}
