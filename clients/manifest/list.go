package manifest

import (
	"errors"
	"fmt"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// batch is the number of bytes of items that are decoded by one task.
const batch = 256 << 10

// errEnough ends a list with too many errors.
var errEnough = errors.New("too many errors")

// list is an object that is read as a list, item by item. Its end shows whether it is one: kubectl prints the kind after the
// items.
type list struct {
	at      string
	out     *pipeline
	implied metav1.TypeMeta // of items without a type, as far as it is known
	texts   []byte
	ends    []int
	n       int // number of items before texts
	parts   []*part
}

func (l *list) begin(before []byte) {
	if t, ok := typeOf(before); ok {
		l.implied, _ = itemType(t)
	}
}

func (l *list) add(text []byte, held bool) error {
	l.texts = append(l.texts, text...)
	l.ends = append(l.ends, len(l.texts))
	if len(l.texts) < batch {
		return nil
	}
	l.flush()
	if !held && l.out.enough() {
		return errEnough
	}
	return nil
}

func (l *list) flush() {
	if len(l.ends) == 0 {
		return
	}
	texts, ends, first := l.texts, l.ends, l.n
	l.texts, l.ends, l.n = make([]byte, 0, cap(texts)), nil, l.n+len(ends)
	l.parts = append(l.parts, l.out.add(func(d *decoder) []found {
		out := make([]found, 0, len(ends))
		from := 0
		for i, to := range ends {
			out = d.value(out, fmt.Sprintf("%s: items[%d]", l.at, first+i), texts[from:to], l.implied, 1)
			from = to
		}
		return out
	}))
}

// abandon gives up on a list without an end: the types that its kind implies remain unknown.
func (l *list) abandon() {
	l.out.running.Wait()
	for _, p := range l.parts {
		p.found = slices.DeleteFunc(p.found, func(f found) bool { return f.untyped != nil })
	}
}

// end reads the object around the items. If the object is not a list, its items are a field that is not read.
func (l *list) end(rest []byte) {
	if len(l.parts) == 0 {
		l.out.add(func(d *decoder) []found { return d.value(nil, l.at, rest, metav1.TypeMeta{}, 0) })
		return
	}
	l.out.running.Wait()
	l.out.add(func(d *decoder) []found { return l.around(d, rest) })
}

// around decides about the items once the kind is known.
func (l *list) around(d *decoder, rest []byte) []found {
	h, err := headOf(rest)
	t, isList := itemType(h.TypeMeta)
	if err == nil && isList && h.Items != nil {
		for _, p := range l.parts {
			var out []found
			l.out.failed.Add(-failures(p.found))
			for _, f := range p.found {
				if f.untyped == nil {
					out = append(out, f)
				} else {
					out = d.value(out, f.at, f.untyped, t, 1)
				}
			}
			p.found = out
			l.out.failed.Add(failures(out))
		}
		return nil
	}
	for _, p := range l.parts {
		l.out.failed.Add(-failures(p.found))
		p.found = nil
	}
	return d.value(nil, l.at, rest, metav1.TypeMeta{}, 0)
}
