package content

import (
	"iter"
	"sort"

	"google.golang.org/protobuf/encoding/protowire"
)

// A packed node stores the inline templates of its pods as references, so that equal templates are stored once. Its encoding
// is packedMark followed by the canonical encoding, in which sharedField, a reference to a shared template, replaces the
// template of a pod. Canonical encodings contain neither.
const (
	packedMark  = 0
	sharedField = 15

	podTemplateField = 3
)

// Shared is a reference to a shared template.
type Shared uint64

// MaxSharers bounds the sharers of a builder. Each sharer numbers its own templates.
const MaxSharers = 256

// SharedAt returns the reference to the n-th template of a sharer.
func SharedAt(sharer, n int) Shared { return Shared(n*MaxSharers + sharer) }

// AppendShared appends the field of a pod that refers to a shared template.
func AppendShared(b []byte, s Shared) []byte {
	return protowire.AppendVarint(protowire.AppendTag(b, sharedField, protowire.VarintType), uint64(s))
}

// AppendPacked appends the start of a packed node.
func AppendPacked(b []byte) []byte { return append(b, packedMark) }

// Share adds the next template of a sharer in its canonical encoding, without copying it. It must precede the nodes that refer
// to the template.
func (b *Builder) Share(sharer int, template []byte) {
	l := b.content.Nodes()
	for len(l.shared) <= sharer {
		l.shared = append(l.shared, nil)
	}
	l.shared[sharer] = append(l.shared[sharer], template)
	l.sharedBytes += int64(len(template))
}

// packed reports whether an item is a packed node.
func packed(item []byte) bool { return len(item) > 0 && item[0] == packedMark }

// unpack returns the canonical encoding of a packed node.
func (l *List) unpack(item []byte) []byte {
	size := 0
	for b := range l.unpacked(item) {
		size += len(b)
	}
	out := make([]byte, 0, size)
	for b := range l.unpacked(item) {
		out = append(out, b...)
	}
	return out
}

// unpacked yields the canonical encoding of a packed node in pieces. A piece is valid until the next one.
func (l *List) unpacked(item []byte) iter.Seq[[]byte] {
	return func(yield func([]byte) bool) {
		var head []byte
		for item := item[1:]; len(item) > 0; {
			field, kind, n := protowire.ConsumeTag(item)
			n += protowire.ConsumeFieldValue(field, kind, item[n:])
			whole := item[:n]
			item = item[n:]
			before, template, after := l.sharedIn(field, whole)
			if template == nil {
				if !yield(whole) {
					return
				}
				continue
			}
			size := len(before) + 1 + protowire.SizeBytes(len(template)) + len(after)
			head = protowire.AppendVarint(protowire.AppendTag(head[:0], field, protowire.BytesType), uint64(size))
			head = append(head, before...)
			head = protowire.AppendVarint(protowire.AppendTag(head, podTemplateField, protowire.BytesType), uint64(len(template)))
			if !yield(head) || !yield(template) || !yield(after) {
				return
			}
		}
	}
}

// sharedIn returns the shared template of a node's field and the parts of the pod before and after the reference. The template
// is nil if the field is not a pod with a reference.
func (l *List) sharedIn(field protowire.Number, whole []byte) (before, template, after []byte) {
	if field != nodePodsField && field != nominatedPodsField {
		return nil, nil, nil
	}
	_, _, n := protowire.ConsumeTag(whole)
	pod, _ := protowire.ConsumeBytes(whole[n:])
	for at := 0; at < len(pod); {
		field, kind, n := protowire.ConsumeTag(pod[at:])
		if field == sharedField {
			s, size := protowire.ConsumeVarint(pod[at+n:])
			return pod[:at], l.shared[s%MaxSharers][s/MaxSharers], pod[at+n+size:]
		}
		at += n + protowire.ConsumeFieldValue(field, kind, pod[at+n:])
	}
	return nil, nil, nil
}

// raw returns the i-th item as stored.
func (l *List) raw(i int) []byte {
	if !l.ordered {
		return l.pages[i/pageSize].items[i%pageSize]
	}
	of := sort.SearchInts(l.ends, i+1)
	p := l.pages[of]
	return p.items[i-(l.ends[of]-len(p.items))]
}

// allRaw yields the items as stored.
func (l *List) allRaw(yield func(int, []byte) bool) {
	i := 0
	for _, p := range l.pages {
		for _, item := range p.items {
			if !yield(i, item) {
				return
			}
			i++
		}
	}
}

// sharedMemory returns the size of the shared templates in bytes.
func (l *List) sharedMemory() int64 {
	const perTemplate = 24 // its slice
	sum := int64(24 * len(l.shared))
	for _, s := range l.shared {
		sum += int64(perTemplate * cap(s))
	}
	return sum + l.sharedBytes
}
