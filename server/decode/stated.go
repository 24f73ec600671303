package decode

import (
	"bytes"
	"encoding/binary"
	"hash/maphash"

	"google.golang.org/protobuf/encoding/protowire"

	"github.com/stowage-scheduler/stowage/engine/api"
	"github.com/stowage-scheduler/stowage/proto/content"
)

// statedTemplate is a template that pods on nodes state themselves.
type statedTemplate struct {
	template  *api.PodTemplate
	canonical []byte
	shared    content.Shared // where it is kept, if it is
}

// encodedTemplate is a way in which a stated template was encoded. Many encoders write labels in another order each time,
// so their order is left out of it.
type encodedTemplate struct {
	of *statedTemplate
	templateParts
	exact     []byte           // all of it, where labels are not written in the usual way, so that their order may mean something
	canonical bool             // whether it is in canonical form as it stands here
	next      *encodedTemplate // with the same hash
}

// templateParts are what an encoded template consists of.
type templateParts struct {
	head   []byte // what comes before the labels
	labels []encodedLabel
	tail   []byte
}

// encodedLabel is a field of labels. Fields that differ may have one sum.
type encodedLabel struct {
	field []byte
	sum   uint64
}

// templateLabels is the field number of PodTemplate.labels.
const templateLabels = 2

// mostLabels is how many labels may be in another order, mostEncodings how many encodings of one hash are remembered: the
// sums of labels are easily made to be the same.
const (
	mostLabels    = 64
	mostEncodings = 8
)

var templateSeed = maphash.MakeSeed()

// statedTemplates knows templates again by their encodings.
type statedTemplates struct {
	byHash      map[uint64]*encodedTemplate
	byCanonical map[string]*statedTemplate
	parts       templateParts // of the template at hand
	// fresh are those that nobody was told of yet.
	fresh [][]byte
	count int
}

// statedTemplate returns the template that a pod on a node states itself, nil if it is not sound, and whether it is stated
// in canonical form.
func (r *reader) statedTemplate(raw []byte) (_ *statedTemplate, canonical bool) {
	known := &r.stated
	known.parts.cut(raw)
	hash := known.parts.hash()
	ofHash := 0
	for e := known.byHash[hash]; e != nil; e = e.next {
		ofHash++
		if e.exact != nil {
			if bytes.Equal(e.exact, raw) {
				return e.of, e.canonical
			}
		} else if same, inOrder := e.is(&known.parts); same {
			return e.of, e.canonical && inOrder
		}
	}
	template, form, ok := r.ownTemplate(raw)
	if !ok || template.Spec.NodeName != "" {
		return nil, false
	}
	if known.byHash == nil {
		known.byHash, known.byCanonical = make(map[uint64]*encodedTemplate), make(map[string]*statedTemplate)
	}
	t := known.byCanonical[string(form)]
	if t == nil {
		t = &statedTemplate{template: template, canonical: form}
		if r.forms == formShared {
			t.shared = content.SharedAt(r.number, known.count)
			known.count++
			known.fresh = append(known.fresh, form)
		}
		known.byCanonical[string(form)] = t
	}
	canonical = bytes.Equal(raw, t.canonical)
	if ofHash < mostEncodings {
		e := known.parts.encoded(t, raw)
		e.next = known.byHash[hash]
		known.byHash[hash] = e
	}
	return t, canonical
}

// encoded returns an encoded template of these parts. It lies where the canonical form does, if it is that but for the
// order of labels.
func (p *templateParts) encoded(t *statedTemplate, raw []byte) *encodedTemplate {
	e := &encodedTemplate{of: t}
	if !p.unique() {
		e.exact, e.canonical = bytes.Clone(raw), bytes.Equal(raw, t.canonical)
		return e
	}
	e.cut(t.canonical)
	if e.canonical, _ = e.is(p); !e.canonical {
		e.cut(bytes.Clone(raw))
	}
	return e
}

// cut cuts an encoded template into its parts, so that what has labels elsewhere has them in its tail.
func (p *templateParts) cut(raw []byte) {
	const namespaceTag, labelsTag = 1<<3 | byte(protowire.BytesType), templateLabels<<3 | byte(protowire.BytesType)
	at := 0
	if len(raw) > 0 && raw[0] == namespaceTag {
		at = fieldEnd(raw, 0)
	}
	p.head, p.labels = raw[:at], p.labels[:0]
	for at < len(raw) && raw[at] == labelsTag && len(p.labels) < mostLabels {
		end := fieldEnd(raw, at)
		p.labels = append(p.labels, encodedLabel{raw[at:end], sumOf(raw[at:end])})
		at = end
	}
	p.tail = raw[at:]
}

// sumOf goes by a field's length and its end, where values differ.
func sumOf(field []byte) uint64 {
	sum := uint64(len(field))
	if len(field) >= 8 {
		sum += binary.LittleEndian.Uint64(field[len(field)-8:])
	}
	return sum * 0x9e3779b97f4a7c15
}

// fieldEnd returns where a field of bytes with a tag of one byte ends, len(b) if it is malformed.
func fieldEnd(b []byte, from int) int {
	if from+1 < len(b) && b[from+1] < 0x80 {
		return min(from+2+int(b[from+1]), len(b))
	}
	_, n := protowire.ConsumeBytes(b[from+1:])
	if n < 0 {
		return len(b)
	}
	return from + 1 + n
}

// hash does not depend on the order of labels.
func (p *templateParts) hash() uint64 {
	h := maphash.Bytes(templateSeed, p.tail)
	for i := range p.labels {
		h += p.labels[i].sum
	}
	return h
}

// is reports whether parts are the same, but for the order of labels, and whether that is the same too.
func (p *templateParts) is(other *templateParts) (same, inOrder bool) {
	if len(p.labels) != len(other.labels) || !bytes.Equal(p.tail, other.tail) || !bytes.Equal(p.head, other.head) {
		return false, false
	}
	// As all of p's are different, each of the other's has to be another one of them.
	var met uint64
	inOrder = true
	at := -1
	for i := range other.labels {
		at = p.find(&other.labels[i], at+1)
		if at < 0 || met&(1<<at) != 0 {
			return false, false
		}
		met |= 1 << at
		inOrder = inOrder && at == i
	}
	return true, inOrder
}

// find returns the place of a label, -1 if it is not there. It looks first from a place on: orders often are the same but
// for where they begin.
func (p *templateParts) find(l *encodedLabel, from int) int {
	for range p.labels {
		if from == len(p.labels) {
			from = 0
		}
		if own := &p.labels[from]; own.sum == l.sum && bytes.Equal(own.field, l.field) {
			return from
		}
		from++
	}
	return -1
}

// unique reports whether the labels are written in the usual way, each with a key of its own.
func (p *templateParts) unique() bool {
	keys := make(map[string]bool, len(p.labels))
	for _, l := range p.labels {
		key, ok := labelKey(l.field)
		if !ok || keys[key] {
			return false
		}
		keys[key] = true
	}
	return true
}

// labelKey returns the key of a field of labels in the usual encoding.
func labelKey(field []byte) (key string, ok bool) {
	s := scan{data: field}
	s.varint()
	entry := scan{data: s.bytes()}
	ok = entry.next(sized(1))
	key = entry.stringValue()
	ok = ok && entry.next(sized(2))
	entry.bytes()
	return key, ok && !s.bad && !s.more() && !entry.bad && !entry.more()
}
