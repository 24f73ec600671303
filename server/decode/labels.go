package decode

import (
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/stowage-scheduler/stowage/engine/api"
)

// rawEntry is an entry of a map of labels or resources. Its text is not validated.
type rawEntry struct {
	api.Label
	amount uint64 // of a resource
	// Offsets in the message: the entry with its length begins at from, the key ends at key, the entry at end.
	from, key, end int
}

// labels reads an object's labels or node selector. It checks lengths only: kube-scheduler does not check the syntax either.
func (r *reader) labels(at *path, s *scan, field byte, name string) api.Labels {
	labels := r.entries(at, s, field, name)
	for i := range labels {
		if l := &labels[i]; l.Key == "" || len(l.Key) > MaxLabelKeyBytes || len(l.Value) > MaxLabelValueBytes {
			r.wrongLabel(at.entry(name, l.Key), l)
		}
	}
	return labels
}

func (r *reader) wrongLabel(at path, l *api.Label) {
	switch {
	case l.Key == "":
		r.refuse(at, required, "has an empty key")
	case len(l.Key) > MaxLabelKeyBytes:
		r.refuse(at, tooLong, "has a key of %d bytes, at most %d are allowed", len(l.Key), MaxLabelKeyBytes)
	default:
		r.refuse(at, tooLong, "has a value of %d bytes, at most %d are allowed", len(l.Value), MaxLabelValueBytes)
	}
}

// entries reads a map of strings. It is nil if the map is absent, or refused as too long.
func (r *reader) entries(at *path, s *scan, field byte, name string) api.Labels {
	tag := sized(field)
	if !s.next(tag) || !r.readEntries(s, tag, sized(2)) || !r.within(at, name, len(r.rawEntries), MaxLabels) {
		return nil
	}
	out := r.to.labels.take(len(r.rawEntries))
	for i := range r.rawEntries {
		out[i] = r.rawEntries[i].Label
		if !utf8.ValidString(out[i].Key) || !utf8.ValidString(out[i].Value) {
			s.fail()
		}
	}
	return out
}

// readEntries reads the entries of a map and sorts them in place. The tag of the first was read; value is the tag of values.
func (r *reader) readEntries(s *scan, tag, value tag) bool {
	r.rawEntries = r.rawEntries[:0]
	for more := true; more; more = s.next(tag) {
		e := rawEntry{from: s.at}
		if value != sized(2) || !s.shortEntry(&e) {
			n := len(s.bytes())
			e.end = s.at
			entry := scan{data: s.data[:e.end], at: e.end - n}
			hasKey := entry.next(sized(1))
			e.Key = text(entry.bytes())
			e.key = entry.at
			hasValue := entry.next(value)
			if value == sized(2) {
				e.Value = text(entry.bytes())
			} else {
				e.amount = entry.varint()
			}
			if !hasKey || !hasValue || !entry.usual() {
				s.fail()
				return false
			}
		}
		r.rawEntries = append(r.rawEntries, e)
	}
	return r.sortInPlace(s, tag)
}

// shortEntry reads an entry of strings if its lengths take one byte each.
func (s *scan) shortEntry(e *rawEntry) bool {
	b := s.data[s.at:]
	if len(b) < 5 || b[0] >= 0x80 || b[1] != byte(sized(1)) || b[2] >= 0x80 {
		return false
	}
	key, end := 3+int(b[2]), 1+int(b[0])
	if end > len(b) || key+2 > end || b[key] != byte(sized(2)) || int(b[key+1]) != end-key-2 {
		return false
	}
	e.Key, e.Value, e.key, e.end = text(b[3:key]), text(b[key+2:end]), s.at+key, s.at+end
	s.at = e.end
	return true
}

// sortInPlace sorts the entries of a map in the message by key. It reports whether the keys are unique.
func (r *reader) sortInPlace(s *scan, tag tag) bool {
	from := r.rawEntries[0].from
	inOrder, unique := sortEntries(r.rawEntries)
	if !unique {
		s.fail()
		return false
	}
	if inOrder {
		return true
	}
	r.ordered = r.ordered[:0]
	for i := range r.rawEntries {
		e := &r.rawEntries[i]
		at := from + len(r.ordered)
		r.ordered = append(r.ordered, s.data[e.from:e.end]...)
		if r.ordered = append(r.ordered, byte(tag)); tag.size() == 2 {
			r.ordered = append(r.ordered, byte(tag>>8))
		}
		key, end := e.key-e.from+at, e.end-e.from+at
		e.Key, e.Value = text(s.data[key-len(e.Key):key]), text(s.data[end-len(e.Value):end])
	}
	copy(s.data[from:], r.ordered[:len(r.ordered)-tag.size()])
	return true
}

// insertAtMost is the length up to which an insertion sort is faster than slices.SortFunc.
const insertAtMost = 24

// sortEntries sorts entries by key. It reports whether they were in order, and whether the keys are unique.
func sortEntries(entries []rawEntry) (inOrder, unique bool) {
	inOrder = true
	for i := 1; i < len(entries) && inOrder; i++ {
		inOrder = entries[i-1].Key < entries[i].Key
	}
	if inOrder {
		return true, true
	}
	if len(entries) <= insertAtMost {
		insertEntries(entries)
	} else {
		slices.SortFunc(entries, func(a, b rawEntry) int { return strings.Compare(a.Key, b.Key) })
	}
	for i := 1; i < len(entries); i++ {
		if entries[i].Key == entries[i-1].Key {
			return false, false
		}
	}
	return false, true
}

func insertEntries(entries []rawEntry) {
	for i := 1; i < len(entries); i++ {
		e, at := entries[i], i
		for ; at > 0 && e.Key < entries[at-1].Key; at-- {
			entries[at] = entries[at-1]
		}
		entries[at] = e
	}
}

const (
	labelSyntax      = "up to 63 letters, digits, '-', '_' and '.' that begin and end with a letter or digit"
	labelKeySyntax   = "must be a label key: an optional DNS subdomain and a slash, and " + labelSyntax
	labelValueSyntax = "must be a label value: empty, or " + labelSyntax
)

func (p *problems) labelKey(at path, key string) {
	if !isLabelKey(key) {
		p.refuse(at, invalidSyntax, labelKeySyntax)
	}
}

// isLabelKey reports whether s is a qualified name as in Kubernetes.
func isLabelKey(s string) bool {
	if prefix, name, ok := strings.Cut(s, "/"); ok {
		return isSubdomain(prefix) && name != "" && isLabelValue(name)
	}
	return s != "" && isLabelValue(s)
}

func isLabelValue(s string) bool {
	if s == "" {
		return true
	}
	if len(s) > MaxLabelValueBytes || !isAlphanumeric(s[0]) || !isAlphanumeric(s[len(s)-1]) {
		return false
	}
	for i := range len(s) {
		if c := s[i]; !isAlphanumeric(c) && c != '-' && c != '_' && c != '.' {
			return false
		}
	}
	return true
}

// isSubdomain reports whether s is an RFC 1123 subdomain.
func isSubdomain(s string) bool {
	if s == "" || len(s) > MaxNameBytes {
		return false
	}
	before := byte('.')
	for i := range len(s) {
		c := s[i]
		switch {
		case 'a' <= c && c <= 'z' || '0' <= c && c <= '9':
		case c == '-' && before != '.':
		case c == '.' && before != '.' && before != '-':
		default:
			return false
		}
		before = c
	}
	return before != '.' && before != '-'
}

func isAlphanumeric(c byte) bool {
	return 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9'
}
