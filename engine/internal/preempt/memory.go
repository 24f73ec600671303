package preempt

import (
	"slices"

	"github.com/stowage-scheduler/stowage/engine/internal/rule"
	"github.com/stowage-scheduler/stowage/engine/verdict"
)

// Memory caches search results by node for the pods of an equivalence class. The result of a node is valid until its pods, the pods
// nominated to it or its occupied ports change. Callers that change them must call Forget before or after the change, with no search
// between the two. Each search begins by comparing the rules' counts on other nodes.
type Memory struct {
	found      []remembered
	rejections []*verdict.Rejection // the different ones in found, and some that were
	reaches    []rule.Reach         // as of the last search
}

// maxRejections bounds the different rejections of a memory. Nodes with others are not remembered.
const maxRejections = 64

// remembered is what a search found about a node.
type remembered struct {
	loss      // without victims
	known     bool
	atLeast   bool               // the loss is that or larger
	rejection *verdict.Rejection // nil for a candidate
}

// Forget drops what is known of a node.
func (m *Memory) Forget(node uint32) {
	if int(node) < len(m.found) {
		m.found[node] = remembered{}
	}
}

// ForgetAll drops what is known of all nodes.
func (m *Memory) ForgetAll() {
	clear(m.found)
	m.rejections = nil
}

// shared returns the stored rejection that equals r except for its nodes, and stores one if needed; nil if too many are stored.
func (m *Memory) shared(r *verdict.Rejection) *verdict.Rejection {
	for _, known := range m.rejections {
		if known.Plugin == r.Plugin && known.Code == r.Code && slices.Equal(known.Reasons, r.Reasons) {
			return known
		}
	}
	if len(m.rejections) == maxRejections {
		return nil
	}
	kept := &verdict.Rejection{Plugin: r.Plugin, Code: r.Code, Reasons: r.Reasons}
	m.rejections = append(m.rejections, kept)
	return kept
}

// Bytes is about the memory that it takes.
func (m *Memory) Bytes() int {
	const ofNode, ofRejection = 96, 512
	size := ofNode*len(m.found) + ofRejection*len(m.rejections)
	for i := range m.reaches {
		size += 8 * len(m.reaches[i].Counts)
	}
	return size
}

// usable returns the memory as it holds for a search with some rules; nil if the search cannot use it.
func (m *Memory) usable(nodes int, parts []part, o *Options) *Memory {
	if m == nil || o.All || o.Each != nil || o.RecountSpread {
		return nil
	}
	before := m.reaches
	m.reaches = nil
	for i := range parts {
		m.reaches = append(m.reaches, parts[i].Reaches()...)
	}
	for i := range m.reaches {
		m.reaches[i].Counts = slices.Clone(m.reaches[i].Counts)
	}
	switch {
	case m.found == nil:
		m.found = make([]remembered, nodes)
	case !slices.EqualFunc(before, m.reaches, alike):
		m.ForgetAll()
	default:
		for i := range before {
			m.compare(&before[i], &m.reaches[i])
		}
	}
	return m
}

// alike reports whether two reaches are of the same rule, and differ in the counts of domains at most.
func alike(a, b rule.Reach) bool {
	return a.ID == b.ID && a.Column == b.Column && a.All == b.All && len(a.Counts) == len(b.Counts)
}

// compare forgets the nodes of the domains whose counts differ.
func (m *Memory) compare(before, now *rule.Reach) {
	if slices.Equal(before.Counts, now.Counts) {
		return
	}
	for node, d := range now.Column.Domain {
		if before.Counts[d] != now.Counts[d] {
			m.found[node] = remembered{}
		}
	}
}

// remember keeps what is found about a node.
func (s *search) remember(r remembered) {
	if s.Memory != nil {
		r.victims, r.known = nil, true
		s.Memory.found[r.node] = r
	}
}

// recall adds what is remembered about a node to the search, and reports whether that is all there is to find.
func (s *search) recall(node uint32) bool {
	if s.Memory == nil || !s.Memory.found[node].known {
		return false
	}
	r := &s.Memory.found[node]
	switch {
	case r.rejection != nil:
		of := *r.rejection
		of.Nodes = []uint32{node}
		s.rejections.Add(of)
	case r.atLeast:
		return s.best.node != none && r.exceeds(&s.best)
	default:
		victims := s.current.victims[:0]
		s.current = r.loss
		s.current.victims = victims
		s.finish()
	}
	return true
}
