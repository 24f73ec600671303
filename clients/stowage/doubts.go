package stowage

import (
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"

	stowagev1 "github.com/stowage-scheduler/stowage/proto/stowage/v1"
)

// Doubts returns the doubts of responses, wherever the responses have them. A positive answer with doubts is not certain.
func Doubts[M proto.Message](responses ...M) []*stowagev1.Doubt {
	s := doubtScan{reaches: map[protoreflect.FullName]bool{}}
	for _, r := range responses {
		if m := r.ProtoReflect(); m.IsValid() {
			s.scan(m)
		}
	}
	return s.found
}

// doubtScan looks for doubts in messages. It skips fields that cannot have any, so that long answers cost little.
type doubtScan struct {
	reaches map[protoreflect.FullName]bool // whether a message of the type may contain doubts
	found   []*stowagev1.Doubt
}

var doubtName = (*stowagev1.Doubt)(nil).ProtoReflect().Descriptor().FullName()

func (s *doubtScan) scan(m protoreflect.Message) {
	if d, ok := m.Interface().(*stowagev1.Doubt); ok {
		s.found = append(s.found, d)
		return
	}
	fields := m.Descriptor().Fields()
	for i := range fields.Len() {
		f := fields.Get(i)
		if f.Message() == nil || f.IsMap() || !m.Has(f) || !s.mayContain(f.Message()) {
			continue
		}
		if !f.IsList() {
			s.scan(m.Get(f).Message())
			continue
		}
		list := m.Get(f).List()
		for j := range list.Len() {
			s.scan(list.Get(j).Message())
		}
	}
}

// mayContain reports whether messages of a type may contain doubts.
func (s *doubtScan) mayContain(d protoreflect.MessageDescriptor) bool {
	if d.FullName() == doubtName {
		return true
	}
	if known, ok := s.reaches[d.FullName()]; ok {
		return known
	}
	s.reaches[d.FullName()] = false // types that contain themselves
	for i := range d.Fields().Len() {
		if of := d.Fields().Get(i).Message(); of != nil && s.mayContain(of) {
			s.reaches[d.FullName()] = true
			return true
		}
	}
	return false
}
