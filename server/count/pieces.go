package count

import (
	"strings"

	"google.golang.org/protobuf/encoding/protowire"
)

// frame is a message that is being counted.
type frame struct {
	*table
	// of is the field that the message is in.
	of  *field
	end int
	// before is the number of fields before it.
	before int64
	// counts are the elements of its lists so far.
	counts [maxLists]int32
}

func (w *walk) enter(t *table, of *field, end int) *frame {
	f := &w.frames[w.depth]
	w.depth++
	f.table, f.of, f.end, f.before = t, of, end, w.fields
	f.counts = [maxLists]int32{}
	return f
}

// run counts a message that is in several pieces.
func (w *walk) run() *Excess {
	f := &w.frames[0]
	for w.ended == nil {
		if w.position() >= f.end {
			if w.depth--; w.depth == 0 {
				return nil
			}
			before := f.before
			f = &w.frames[w.depth-1]
			w.leave(f.table, before)
			continue
		}
		tag, ok := w.varint(f.end)
		if !ok {
			w.skipTo(f.end)
			continue
		}
		if !w.field(f.table) {
			return nil
		}
		kind := protowire.Type(tag & 7)
		if kind == protowire.StartGroupType || kind == protowire.EndGroupType {
			continue // the contract has none: what is inside is skipped as fields are
		}
		end, ok := w.value(kind, f.end)
		if !ok {
			w.skipTo(f.end)
			continue
		}
		if tag>>3 >= uint64(len(f.fields)) || f.fields[tag>>3].kind == unread {
			w.skipTo(end)
			continue
		}
		of := &f.fields[tag>>3]
		if kind != protowire.BytesType && of.kind != number {
			continue
		}
		inner, excess := w.element(f, of, kind, end)
		if excess != nil {
			return excess
		}
		f = inner
	}
	return nil
}

// value moves to a value of a message, behind its length, or past a value that is neither a message nor text. It returns where the
// value ends, and whether it ends in the message.
func (w *walk) value(kind protowire.Type, end int) (valueEnd int, ok bool) {
	n := 0
	switch kind {
	case protowire.VarintType:
		_, ok = w.varint(end)
	case protowire.BytesType:
		n, ok = w.length(end)
	case protowire.Fixed32Type, protowire.Fixed64Type:
		if ok = fixed(kind) <= end-w.position(); ok {
			w.skipTo(w.position() + fixed(kind))
		}
	}
	return w.position() + n, ok
}

// element counts the elements in a field, and returns the message to continue with.
func (w *walk) element(f *frame, of *field, kind protowire.Type, end int) (*frame, *Excess) {
	n := int32(1)
	if of.kind == number && kind == protowire.BytesType {
		n = w.numbers(end)
	}
	if w.add(of, &f.counts, n) {
		return nil, w.excess(f, of, end)
	}
	if of.kind == message && !of.inner.flat && end > w.position() {
		if w.refill() && end-w.before <= len(w.piece) { // the usual case: it is in one piece
			b := w.piece[w.at : end-w.before]
			w.at += len(b)
			before := w.fields
			if excess := w.contiguous(of.inner, b); excess != nil {
				excess.Field = w.path(of) + index(of, &f.counts) + "." + excess.Field
				return nil, excess
			}
			w.leave(f.table, before)
			return f, nil
		}
		return w.enter(of.inner, of, end), nil
	}
	before := w.fields
	w.flat(of, n, end-w.position())
	w.leave(f.table, before)
	w.skipTo(end)
	return f, nil
}

// numbers returns how many numbers are packed up to end.
func (w *walk) numbers(end int) (n int32) {
	for left := end - w.position(); left > 0; {
		b := w.chunk(left)
		if len(b) == 0 {
			break
		}
		n += packed(b)
		left -= len(b)
	}
	return n
}

// excess returns the error of a list that has too many elements, the last of which ends at end. It counts the rest of them.
func (w *walk) excess(f *frame, of *field, end int) *Excess {
	w.skipTo(end)
	total := int(f.counts[of.counter])
	for fields := 1; w.position() < f.end && w.proceed(fields); fields++ {
		tag, ok := w.varint(f.end)
		if !ok {
			break
		}
		kind := protowire.Type(tag & 7)
		next := w.position()
		if kind != protowire.StartGroupType && kind != protowire.EndGroupType {
			if next, ok = w.value(kind, f.end); !ok {
				break
			}
		}
		switch same := tag>>3 < uint64(len(f.fields)) && &f.fields[tag>>3] == of; {
		case same && of.kind == number && kind == protowire.BytesType:
			total += int(w.numbers(next))
		case same:
			total++
		}
		w.skipTo(next)
	}
	return &Excess{Field: w.path(of), Items: total, Limit: int(of.limit)}
}

// path is the path of a field of the current message.
func (w *walk) path(of *field) string {
	var b strings.Builder
	for i := range w.depth {
		if i == 0 {
			continue
		}
		in := w.frames[i].of
		b.WriteString(in.name + index(in, &w.frames[i-1].counts) + ".")
	}
	return b.String() + of.name
}
