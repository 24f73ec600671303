package stowage

import (
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"

	stowagev1 "github.com/stowage-scheduler/stowage/proto/stowage/v1"
)

// Doubts returns the doubts in all parts of responses. A positive answer with doubts is not certain. Doubts about an entry behind the
// queue of a what-if scenario refer to the evicted or preempted pods of the entry.
func Doubts[M proto.Message](responses ...M) []*stowagev1.Doubt {
	s := doubtScan{reaches: map[protoreflect.FullName]bool{}}
	for _, r := range responses {
		if m := r.ProtoReflect(); m.IsValid() {
			s.scan(m)
		}
	}
	return s.found
}

// doubtScan finds doubts in messages. It skips fields that cannot contain any, so that long responses cost little.
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
	if w, ok := m.Interface().(*stowagev1.WhatIfResponse); ok {
		found := len(s.found)
		defer func() { resolve(w, s.found[found:]) }()
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

// resolve replaces references to entries behind the queue of a scenario, which WhatIfResponse.requeued lists: only the response
// specifies which pods they are. The response keeps its doubts.
func resolve(w *stowagev1.WhatIfResponse, doubts []*stowagev1.Doubt) {
	queue := len(w.GetPlacement().GetPlacements()) - len(w.GetRequeued())
	for i, d := range doubts {
		of, queued := d.GetPod().GetOrigin().(*stowagev1.PodReference_QueueIndex)
		if !queued {
			continue
		}
		entry := int(of.QueueIndex) - queue
		if entry < 0 || entry >= len(w.GetRequeued()) {
			continue
		}
		pod := proto.Clone(w.GetRequeued()[entry].GetPod()).(*stowagev1.PodReference)
		pod.Count = d.GetPod().GetCount()
		doubts[i] = proto.Clone(d).(*stowagev1.Doubt)
		doubts[i].Pod = pod
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
	s.reaches[d.FullName()] = false // ends the recursion of recursive types
	for i := range d.Fields().Len() {
		if of := d.Fields().Get(i).Message(); of != nil && s.mayContain(of) {
			s.reaches[d.FullName()] = true
			return true
		}
	}
	return false
}
