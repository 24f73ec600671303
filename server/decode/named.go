package decode

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"slices"

	"google.golang.org/protobuf/encoding/protowire"

	"github.com/stowage-scheduler/stowage/engine/api"
	"github.com/stowage-scheduler/stowage/proto/content"
)

// Field numbers of Pod.
const (
	podName = 1 + iota
	podTemplateIndex
	podTemplate
	podLabels
	podTerminating
)

// rawPod is a pod on a node that is stated one by one, and the fields that it was stated with.
type rawPod struct {
	pod                       api.Pod
	name, source, terminating []byte
	labels                    []rawLabel
	stated                    *statedTemplate // in place of source
	canonical                 []byte          // all of it, where it is in canonical form
}

// podPlace is the place of a pod among those read, and what its canonical form begins with, to be compared.
type podPlace struct {
	prefix uint64
	place  int32
}

// pod reads a pod that is stated one by one.
func (r *reader) pod(c *chunk, to *readNode, raw []byte) bool {
	r.named = append(r.named, rawPod{pod: api.Pod{TemplateIndex: -1}})
	p := &r.named[len(r.named)-1]
	labels := len(r.podLabels)
	canonical := true
	seen := 0
	s := scan{data: raw}
	last := protowire.Number(0)
	for s.more() {
		from := s.at
		field, kind := s.tag()
		// Encoders put the source, which is one of two, where they like.
		if field < last {
			canonical = false
		} else {
			last = field
		}
		if field != podLabels && seen&(1<<field) != 0 {
			return false
		}
		seen |= 1 << field
		switch {
		case field == podName && kind == protowire.BytesType:
			if p.pod.Name = s.string(); p.pod.Name == "" || len(p.pod.Name) > MaxNameBytes {
				return false
			}
			p.name = s.since(from)
		case field == podTemplateIndex && kind == protowire.VarintType:
			i := s.varint()
			if s.bad || i >= uint64(len(r.templates)) || r.pinned[i] || p.stated != nil {
				return false
			}
			p.pod.TemplateIndex, p.pod.Template = int(i), r.templates[i]
			p.source = s.since(from)
		case field == podTemplate && kind == protowire.BytesType:
			if p.source != nil {
				return false
			}
			var asCanonical bool
			if p.stated, asCanonical = r.statedTemplate(&to.met, s.bytes()); p.stated == nil {
				return false
			}
			p.pod.Template = p.stated.template
			canonical = canonical && asCanonical
		case field == podLabels && kind == protowire.BytesType:
			key, value, ok := s.label()
			if !ok {
				return false
			}
			r.podLabels = append(r.podLabels, rawLabel{api.Label{Key: key, Value: value}, s.since(from)})
		case field == podTerminating && kind == protowire.VarintType:
			if s.varint() != 1 {
				return false
			}
			p.pod.Terminating = true
			p.terminating = s.since(from)
		default:
			return false
		}
	}
	p.labels = r.podLabels[labels:]
	if s.bad || p.pod.Template == nil || len(p.labels) > MaxLabels {
		return false
	}
	inOrder, unique := sortLabels(p.labels)
	if !unique {
		return false
	}
	p.pod.Labels = c.takeLabels(p.labels)
	if canonical && inOrder {
		p.canonical = raw
	}
	to.pods++
	return true
}

// takePods takes the pods of a node over in the order of their canonical forms, and reports whether the node has them so.
func (r *reader) takePods(c *chunk, n *api.Node) (canonical bool) {
	if len(r.named) == 0 {
		return true
	}
	canonical = true
	r.order = r.order[:0]
	for i := range r.named {
		p := &r.named[i]
		r.order = append(r.order, podPlace{p.prefix(), int32(i)})
		canonical = canonical && p.canonical != nil
	}
	compare := func(a, b podPlace) int {
		if a.prefix != b.prefix {
			return cmp.Compare(a.prefix, b.prefix)
		}
		return r.comparePods(&r.named[a.place], &r.named[b.place])
	}
	if !slices.IsSortedFunc(r.order, compare) {
		canonical = false
		slices.SortFunc(r.order, compare)
	}
	from := len(c.pods)
	for _, o := range r.order {
		c.pods = append(c.pods, r.named[o.place].pod)
	}
	n.Pods = c.pods[from:]
	return canonical
}

// prefix is a number by which canonical forms are in order, but for those of which it is the same: the bytes after the
// name's tag. Pods without a name come last, as other tags are greater.
func (p *rawPod) prefix() uint64 {
	if p.name == nil {
		return ^uint64(0)
	}
	var b [8]byte
	copy(b[:], p.name[1:])
	return binary.BigEndian.Uint64(b[:])
}

// comparePods compares canonical forms of the same prefix.
func (r *reader) comparePods(a, b *rawPod) int {
	if c := bytes.Compare(a.name, b.name); c != 0 {
		return c
	}
	r.compared = a.append(r.compared[:0], false)
	n := len(r.compared)
	r.compared = b.append(r.compared, false)
	return bytes.Compare(r.compared[:n], r.compared[n:])
}

// append appends the canonical form, or the one that is kept.
func (p *rawPod) append(b []byte, kept bool) []byte {
	if p.canonical != nil && (!kept || p.stated == nil) {
		return append(b, p.canonical...)
	}
	b = append(b, p.name...)
	switch {
	case p.stated == nil:
		b = append(b, p.source...)
	case kept:
		b = content.AppendShared(b, p.stated.shared)
	default:
		b = protowire.AppendTag(b, podTemplate, protowire.BytesType)
		b = protowire.AppendBytes(b, p.stated.canonical)
	}
	for i := range p.labels {
		b = append(b, p.labels[i].field...)
	}
	return append(b, p.terminating...)
}

// size is the length of what append appends.
func (p *rawPod) size(kept bool) int {
	if p.canonical != nil && (!kept || p.stated == nil) {
		return len(p.canonical)
	}
	n := len(p.name) + len(p.source) + len(p.terminating)
	if p.stated != nil {
		if kept {
			n += content.SizeShared(p.stated.shared)
		} else {
			n += 1 + protowire.SizeBytes(len(p.stated.canonical))
		}
	}
	for i := range p.labels {
		n += len(p.labels[i].field)
	}
	return n
}

// appendPods appends the fields of a node's pods, in order.
func (r *reader) appendPods(b []byte, kept bool) []byte {
	for _, o := range r.order {
		p := &r.named[o.place]
		b = protowire.AppendTag(b, nodePods, protowire.BytesType)
		b = protowire.AppendVarint(b, uint64(p.size(kept)))
		b = p.append(b, kept)
	}
	return b
}
