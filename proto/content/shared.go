package content

import (
	"iter"

	"google.golang.org/protobuf/encoding/protowire"
)

// Nodes whose pods state their templates may be kept without these: templates that many pods state are kept once. A
// packed node is packedMark and then the node's canonical encoding, but that a pod may have a field sharedField, a number
// that says which template it states. Neither occurs in canonical encodings.
const (
	packedMark  = 0
	sharedField = 15

	nodePodsField    = 8
	podTemplateField = 3
)

// Shared says where a template is kept that pods share.
type Shared uint64

// MaxSharers is how many may share templates with a builder, each counting its own.
const MaxSharers = 256

// SharedAt is where the n-th template of a sharer is kept.
func SharedAt(sharer, n int) Shared { return Shared(n*MaxSharers + sharer) }

// AppendShared appends the field that stands in a pod for a shared template.
func AppendShared(b []byte, s Shared) []byte {
	return protowire.AppendVarint(protowire.AppendTag(b, sharedField, protowire.VarintType), uint64(s))
}

// SizeShared is how many bytes AppendShared appends.
func SizeShared(s Shared) int { return 1 + protowire.SizeVarint(uint64(s)) }

// AppendPacked begins a packed node.
func AppendPacked(b []byte) []byte { return append(b, packedMark) }

// Share adds the next of a sharer's templates, in its canonical encoding, which is kept as it is. It comes before the
// nodes that refer to it.
func (b *Builder) Share(sharer int, template []byte) {
	l := &b.content.nodes
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

// unpacked yields the canonical encoding of a packed node in pieces. One may be overwritten when the next is there.
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
			head = protowire.AppendVarint(protowire.AppendTag(head[:0], nodePodsField, protowire.BytesType), uint64(size))
			head = append(head, before...)
			head = protowire.AppendVarint(protowire.AppendTag(head, podTemplateField, protowire.BytesType), uint64(len(template)))
			if !yield(head) || !yield(template) || !yield(after) {
				return
			}
		}
	}
}

// sharedIn finds the template that a node's field, a pod, states elsewhere, and what the pod has before and after it.
func (l *List) sharedIn(field protowire.Number, whole []byte) (before, template, after []byte) {
	if field != nodePodsField {
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

// raw returns the i-th item as it is kept.
func (l *List) raw(i int) []byte { return l.pages[i/pageSize].items[i%pageSize] }

// allRaw yields the items as they are kept.
func (l *List) allRaw(yield func(int, []byte) bool) {
	for i := range l.len {
		if !yield(i, l.raw(i)) {
			return
		}
	}
}

// sharedMemory is what shared templates take, in bytes.
func (l *List) sharedMemory() int64 {
	const perTemplate = 24 // its slice
	all := int64(24 * len(l.shared))
	for _, s := range l.shared {
		all += int64(perTemplate * cap(s))
	}
	return all + l.sharedBytes
}
