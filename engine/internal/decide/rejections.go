package decide

import (
	"encoding/binary"
	"slices"

	"github.com/stowage-scheduler/stowage/engine/verdict"
)

// Rejections are rejections of nodes. Nodes that one plugin rejects alike are in one rejection.
type Rejections struct {
	List []verdict.Rejection

	last int            // index of the one that was added to last
	at   map[string]int // indexes by key; nil for few
	key  []byte
}

// fewRejections is the number up to which comparing them is faster than their keys.
const fewRejections = 8

// Add adds a rejection.
func (s *Rejections) Add(r verdict.Rejection) {
	if i, found := s.find(&r); found {
		s.last, s.List[i].Nodes = i, union(s.List[i].Nodes, r.Nodes)
		return
	}
	s.last, s.List = len(s.List), append(s.List, r)
	if s.at != nil {
		s.at[string(s.key)] = s.last
	}
}

// find returns the index of the rejection for the same reasons. If there are many, it leaves the key of r.
func (s *Rejections) find(r *verdict.Rejection) (int, bool) {
	if s.last < len(s.List) && alike(&s.List[s.last], r) {
		return s.last, true
	}
	if len(s.List) <= fewRejections {
		i := slices.IndexFunc(s.List, func(o verdict.Rejection) bool { return alike(&o, r) })
		return i, i >= 0
	}
	if s.at == nil {
		s.at = make(map[string]int)
		for i := range s.List {
			s.at[string(s.keyOf(&s.List[i]))] = i
		}
	}
	i, found := s.at[string(s.keyOf(r))]
	return i, found
}

// alike reports whether two rejections differ in their nodes alone.
func alike(a, b *verdict.Rejection) bool {
	return a.Plugin == b.Plugin && a.Code == b.Code && slices.Equal(a.Reasons, b.Reasons)
}

// keyOf returns a key that is equal for rejections that are alike, until the next call.
func (s *Rejections) keyOf(r *verdict.Rejection) []byte {
	s.key = append(s.key[:0], byte(r.Plugin), byte(r.Code))
	for i := range r.Reasons {
		reason := &r.Reasons[i]
		s.key = append(s.key, byte(reason.Type))
		for _, text := range [...]string{reason.Message, reason.Resource} {
			s.key = append(binary.AppendUvarint(s.key, uint64(len(text))), text...)
		}
	}
	return s.key
}

// union adds ascending nodes to others. It moves only the nodes behind the first added one.
func union(nodes, add []uint32) []uint32 {
	i, j := len(nodes)-1, len(add)-1
	for nodes = append(nodes, add...); j >= 0; {
		if i >= 0 && nodes[i] > add[j] {
			nodes[i+j+1] = nodes[i]
			i--
		} else {
			nodes[i+j+1] = add[j]
			j--
		}
	}
	return nodes
}
