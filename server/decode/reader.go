package decode

import (
	"iter"
	"slices"

	"google.golang.org/protobuf/proto"

	"github.com/stowage-scheduler/stowage/engine"
	"github.com/stowage-scheduler/stowage/engine/api"
	stowagev1 "github.com/stowage-scheduler/stowage/proto/stowage/v1"
)

// reader reads encoded messages in the usual encoding. Several readers work concurrently. decoder.again reads messages with
// problems again, with a reader that reports them.
type reader struct {
	*problems
	found problems // unless a decoder has them
	exact *decoder // the decoder that counts names at once, nil if added collects them
	referred
	forms   forms
	prepare func(*engine.Draft, *api.Node)
	number  int // of the reader

	seen   [nameKinds]distinct // the names in previous valid items
	added  *newNames           // other names in the current item
	unused newNames            // added with exact

	frames [16]frame // of the current message and those around it
	depth  int

	to         *lists // for the current item
	kept       lists  // for items that are not reused
	selectors  leniency
	asStated   bool       // the current template does not become content, and need not be in canonical form
	rawEntries []rawEntry // of the current map
	quantities []api.Quantity
	ordered    []byte

	inline          inlineTemplates
	counts          countList
	pods, nominated podList
	whole           []byte // canonical form of a node
	compared        []byte
}

// forms is the form in which the content keeps nodes.
type forms uint8

const (
	formWhole forms = iota
	formShared
	formName // only the name
)

// referred is what nodes and pods refer to.
type referred struct {
	templates []*api.PodTemplate
	pinned    []bool // whether a template has a node_name, not allowed for pods of nodes
	classes   []*api.NodeClass
}

// newNames is names by kind that occur in an item, and in no valid item that the same reader read before.
type newNames [nameKinds][]string

// frame is a message being read. On the stack, frames would escape to functions that are values.
type frame struct {
	at path
	in scan
}

// lists allocates the lists of nodes.
type lists struct {
	labels     slab[api.Label]
	quantities slab[api.Quantity]
	taints     slab[api.Taint]
	images     slab[api.Image]
}

func newReader(to referred) *reader {
	r := &reader{selectors: lenientValues, referred: to}
	r.problems, r.to = &r.found, &r.kept
	return r
}

// slab hands out slices of larger allocations.
type slab[T any] struct {
	taken  []T
	reused bool // after reset
}

func (s *slab[T]) reset() { s.taken, s.reused = s.taken[:0], true }

// take returns n values. The caller sets all of them.
func (s *slab[T]) take(n int) []T {
	if n > cap(s.taken)-len(s.taken) {
		most := 256
		if s.reused {
			most = 2 * cap(s.taken)
		}
		s.taken = make([]T, 0, max(n, min(max(16, 2*cap(s.taken)), most)))
	}
	from := len(s.taken)
	s.taken = s.taken[:from+n]
	return slices.Clip(s.taken[from:])
}

// begin begins an item. It collects the item's names in added, which already contains the names of the templates that a node's first
// reading found.
func (r *reader) begin(added *newNames) {
	r.found, r.added, r.depth = problems{}, added, 0
	r.pods.reset()
	r.nominated.reset()
}

// sound reports whether the current item is valid. Its names are unique then.
func (r *reader) sound() bool {
	if len(r.violations) > 0 || r.full {
		return false
	}
	for kind, names := range r.added {
		r.added[kind] = names[:0]
		for _, name := range names {
			if r.seen[kind].has(name) {
				continue
			}
			if !r.seen[kind].add(name, nameLimits[kind].limit) {
				return false
			}
			r.added[kind] = append(r.added[kind], name)
		}
	}
	return true
}

// countName counts a name that is limited: at once if r reports problems, otherwise with the item.
func (r *reader) countName(at path, kind nameKind, name string) {
	if r.exact != nil {
		r.exact.countName(at, kind, name)
	} else if !r.seen[kind].has(name) {
		r.added[kind] = append(r.added[kind], name)
	}
}

func (r *reader) enter(at path, data []byte) *frame {
	f := &r.frames[r.depth]
	r.depth++
	f.at, f.in = at, scan{data: data}
	return f
}

// read reads a whole message, and reports whether it is in the usual encoding.
func read[T any](r *reader, at path, raw []byte, message func(*reader, *path, *scan) T) (out T, isUsual bool) {
	f := r.enter(at, raw)
	defer func() { r.depth-- }()
	out = message(r, &f.at, &f.in)
	return out, f.in.usual()
}

// nested reads a message whose tag was read.
func nested[T any](r *reader, at path, s *scan, message func(*reader, *path, *scan) T) T {
	f := r.enter(at, s.bytes())
	out := message(r, &f.at, &f.in)
	r.leave(f, s)
	return out
}

// leave ends a message in another one.
func (r *reader) leave(f *frame, in *scan) {
	if r.depth--; !f.in.usual() {
		in.fail()
	}
}

// one reads a message field; an absent one is zero.
func one[T any](r *reader, at *path, s *scan, field byte, name string, message func(*reader, *path, *scan) T) (out T) {
	if s.next(sized(field)) {
		out = nested(r, at.field(name), s, message)
	}
	return out
}

// some reads a message field; an absent one is nil.
func some[T any](r *reader, at *path, s *scan, field byte, name string, message func(*reader, *path, *scan) T) *T {
	if !s.next(sized(field)) {
		return nil
	}
	out := new(T)
	*out = nested(r, at.field(name), s, message)
	return out
}

// list reads a list of messages. It is nil if the list is absent, or refused as too long.
func list[T any](
	r *reader, at *path, s *scan, field byte, name string, limit int, message func(*reader, *path, *scan) T,
) []T {
	return listIn[T](r, at, s, field, name, limit, nil, message)
}

// listIn is list with the elements in a slab.
func listIn[T any](
	r *reader, at *path, s *scan, field byte, name string, limit int, in *slab[T], message func(*reader, *path, *scan) T,
) []T {
	tag := sized(field)
	n := r.begins(at, s, tag, name, limit)
	if n == 0 {
		return nil
	}
	var out []T
	if in != nil {
		out = in.take(n)
	} else {
		out = make([]T, n)
	}
	for i := range out {
		out[i] = nested(r, at.item(name, i), s, message)
		s.next(tag)
	}
	return out
}

// texts is list for strings.
func (r *reader) texts(at *path, s *scan, field byte, name string, limit int) []string {
	tag := sized(field)
	n := r.begins(at, s, tag, name, limit)
	if n == 0 {
		return nil
	}
	out := make([]string, n)
	for i := range out {
		out[i] = s.stringValue()
		s.next(tag)
	}
	return out
}

// begins skips the tag of a list's first element and returns the length of the list: 0 if it is absent or malformed, and if it
// is too long, which begins refuses.
func (r *reader) begins(at *path, s *scan, tag tag, name string, limit int) int {
	if !s.next(tag) {
		return 0
	}
	n := s.count(tag)
	if !r.within(at, name, n, limit) {
		s.skip(tag, n)
		return 0
	}
	return n
}

// usual returns a message in the usual encoding, nil if it is malformed or decoding would lose something.
func usual(raw []byte, m proto.Message) []byte {
	if proto.Unmarshal(raw, m) != nil || findLost(raw, m.ProtoReflect().Descriptor()) != nil {
		return nil
	}
	return encoded(m)
}

// encoded returns a message in the usual encoding, nil if it has text that is not UTF-8.
func encoded(m proto.Message) []byte {
	raw, err := proto.MarshalOptions{Deterministic: true}.Marshal(withoutDefaults(m))
	if err != nil {
		return nil
	}
	if raw == nil {
		raw = []byte{}
	}
	return raw
}

// withoutDefaults returns m, or the copy of an item of a cluster whose templates leave out preemption policies that are the
// default.
func withoutDefaults(m proto.Message) proto.Message {
	for t := range templatesIn(m) {
		if !isDefault(t.GetSpec().GetPreemptionPolicy()) {
			continue
		}
		m = proto.Clone(m)
		for t := range templatesIn(m) {
			if isDefault(t.GetSpec().GetPreemptionPolicy()) {
				t.Spec.PreemptionPolicy = 0
			}
		}
		break
	}
	return m
}

// templatesIn yields the templates in an item of a cluster.
func templatesIn(m proto.Message) iter.Seq[*stowagev1.PodTemplate] {
	return func(yield func(*stowagev1.PodTemplate) bool) {
		switch m := m.(type) {
		case *stowagev1.PodTemplate:
			yield(m)
		case *stowagev1.Node:
			for _, pods := range [][]*stowagev1.Pod{m.GetPods(), m.GetNominatedPods()} {
				for _, p := range pods {
					if !yield(p.GetTemplate()) {
						return
					}
				}
			}
		}
	}
}
