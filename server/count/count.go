package count

import (
	"context"
	"fmt"
	"strconv"
	"strings"

	"google.golang.org/protobuf/encoding/protowire"

	"github.com/stowage-scheduler/stowage/server/wire"
)

// Size is what a request has.
type Size struct {
	// Items is the number of messages, elements of lists and entries of maps.
	Items int64
	// Bytes is an upper estimate of the memory that they take when they are decoded.
	Bytes int64
	// Beside is about the number of fields that are not in a cluster, which are decoded in one go.
	Beside int64
	// Largest is about the number of fields in the largest one of a cluster's elements, each of which is decoded in one go.
	Largest int64
}

// Excess is the error of a list with more elements than the contract allows.
type Excess struct {
	// Field is the path of the list.
	Field string
	// Items is the number of its elements, at most Limit are allowed.
	Items, Limit int
}

func (e *Excess) Error() string { return e.Field + ": " + e.Description() }

// Description is the error without the path.
func (e *Excess) Description() string {
	return fmt.Sprintf("has %d entries, at most %d are allowed", e.Items, e.Limit)
}

// flatField is about the size of a field in a message that has no lists, and how many packed numbers are as much work as a field.
const flatField = 8

// perByte is what each byte of a request takes in any case: a copy of it, and the text in the decoded values.
const perByte = 2

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

// walk is the state of counting. It is on the stack.
type walk struct {
	cursor
	ctx    context.Context
	ended  error
	fields int64 // about their number
	inside int64 // of them in elements of a cluster
	asked  int64 // the number of fields when the context was asked last
	size   Size
	frames [maxDepth + 1]frame
	depth  int
}

// Count counts an encoded request. The error is an *Excess, or that of the context, which it asks once in a while. What is malformed counts as it would be decoded until the decoder notices.
func (t *Table) Count(ctx context.Context, in wire.Pieces) (Size, error) {
	w := walk{ctx: ctx}
	if len(in) == 1 {
		return w.sum(w.within(t.root, in[0]), len(in[0]))
	}
	w.pieces = in
	w.enter(t.root, nil, in.Len())
	return w.sum(w.run(), in.Len())
}

func (w *walk) sum(excess *Excess, bytes int) (Size, error) {
	w.size.Beside = w.fields - w.inside
	w.size.Bytes += perByte * int64(bytes)
	if excess != nil && w.ended == nil {
		return w.size, excess
	}
	return w.size, w.ended
}

// atOnce is how many fields are counted between two questions whether the request has ended or has to wait for its turn.
const atOnce = 16 << 10

func (w *walk) ask() {
	w.asked = w.fields
	if w.ended == nil {
		w.ended = w.ctx.Err()
	}
}

// goesOn asks once in a while, by the number of fields, and reports whether to go on.
func (w *walk) goesOn(fields int) bool {
	if fields%atOnce == 0 {
		w.ask()
	}
	return w.ended == nil
}

func (w *walk) enter(t *table, of *field, end int) *frame {
	f := &w.frames[w.depth]
	w.depth++
	f.table, f.of, f.end, f.before = t, of, end, w.fields
	f.counts = [maxLists]int32{}
	return f
}

// leave ends a message in one of a type, before which there were some fields.
func (w *walk) leave(in *table, before int64) {
	if in.cluster {
		w.inside += w.fields - before
		w.size.Largest = max(w.size.Largest, w.fields-before)
	}
}

// field counts a field of a message, and reports whether to go on. The elements of a cluster are decoded one after the other.
func (w *walk) field(in *table) bool {
	if w.fields++; in.cluster {
		w.inside++
	}
	if w.fields-w.asked > atOnce {
		w.ask()
	}
	return w.ended == nil
}

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
		length := 0
		if !w.field(f.table) {
			return nil
		}
		kind := protowire.Type(tag & 7)
		switch kind {
		case protowire.VarintType:
			if _, ok = w.varint(f.end); !ok {
				w.skipTo(f.end)
				continue
			}
		case protowire.BytesType:
			if length, ok = w.length(f.end); !ok {
				w.skipTo(f.end)
				continue
			}
		case protowire.Fixed32Type, protowire.Fixed64Type:
			next := w.position() + fixed(kind)
			if next > f.end {
				w.skipTo(f.end)
				continue
			}
			w.skipTo(next)
		case protowire.StartGroupType, protowire.EndGroupType: // the contract has none: what is inside is skipped as fields are
			continue
		default:
			w.skipTo(f.end)
			continue
		}
		end := w.position() + length
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

// flat counts what is not walked: numbers that are packed, and the fields of messages without lists.
func (w *walk) flat(of *field, n int32, bytes int) {
	switch of.kind {
	case number:
		w.fields += int64(n-1) / flatField
	case message:
		w.fields += int64(bytes) / flatField
	}
}

// element counts the elements in a field, and returns the message to go on with.
func (w *walk) element(f *frame, of *field, kind protowire.Type, end int) (*frame, *Excess) {
	n := int32(1)
	if of.kind == number && kind == protowire.BytesType {
		n = w.numbers(end)
	}
	w.size.Items += int64(n)
	weight := of.weight[0]
	if of.counter >= 0 {
		c := &f.counts[of.counter]
		if *c += n; *c > many {
			weight = of.weight[1]
		} else if *c == n {
			w.size.Bytes += int64(of.first)
		}
		if of.limit > 0 && *c > of.limit {
			return nil, w.excess(f, of, end)
		}
	}
	w.size.Bytes += int64(n) * int64(weight)
	if of.kind == message && !of.inner.flat && end > w.position() {
		if w.refill() && end-w.before <= len(w.piece) { // the usual case: it is in one piece
			b := w.piece[w.at : end-w.before]
			w.at += len(b)
			before := w.fields
			if excess := w.within(of.inner, b); excess != nil {
				excess.Field = w.path(of) + w.index(f, of) + "." + excess.Field
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

// within is run for a message that is in one piece.
func (w *walk) within(t *table, b []byte) *Excess {
	var counts [maxLists]int32
	for i := 0; i < len(b); {
		tag := uint64(b[i])
		if i++; tag >= 0x80 {
			v, n := protowire.ConsumeVarint(b[i-1:])
			if n < 0 {
				return nil
			}
			tag, i = v, i-1+n
		}
		value := i
		length := 0
		if !w.field(t) {
			return nil
		}
		switch protowire.Type(tag & 7) {
		case protowire.VarintType:
			n := 1
			if i == len(b) || b[i] >= 0x80 {
				if _, n = protowire.ConsumeVarint(b[i:]); n < 0 {
					return nil
				}
			}
			i += n
		case protowire.BytesType:
			if i == len(b) {
				return nil
			}
			length = int(b[i])
			if i++; length >= 0x80 {
				v, n := protowire.ConsumeVarint(b[i-1:])
				if n < 0 || v > uint64(len(b)) {
					return nil
				}
				length, i = int(v), i-1+n
			}
			if length > len(b)-i {
				return nil
			}
			value = i
			i += length
		case protowire.Fixed32Type, protowire.Fixed64Type:
			if i += fixed(protowire.Type(tag & 7)); i > len(b) {
				return nil
			}
		case protowire.StartGroupType, protowire.EndGroupType:
			continue
		default:
			return nil
		}
		if tag>>3 >= uint64(len(t.fields)) {
			continue
		}
		of := &t.fields[tag>>3]
		if of.kind == unread || tag&7 != uint64(protowire.BytesType) && of.kind != number {
			continue
		}
		n := int32(1)
		if of.kind == number && tag&7 == uint64(protowire.BytesType) {
			n = packed(b[value:i])
		}
		w.size.Items += int64(n)
		weight := of.weight[0]
		if of.counter >= 0 {
			c := &counts[of.counter&(maxLists-1)]
			if *c += n; *c > many {
				weight = of.weight[1]
			} else if *c == n {
				w.size.Bytes += int64(of.first)
			}
			if of.limit > 0 && *c > of.limit {
				return &Excess{Field: of.name, Items: int(*c) + w.rest(t, of, b[i:]), Limit: int(of.limit)}
			}
		}
		w.size.Bytes += int64(n) * int64(weight)
		if length > 0 && of.kind == message && !of.inner.flat {
			before := w.fields
			if excess := w.within(of.inner, b[value:i]); excess != nil {
				name := of.name
				if of.counter >= 0 {
					name += "[" + strconv.Itoa(int(counts[of.counter]-1)) + "]"
				}
				excess.Field = name + "." + excess.Field
				return excess
			}
			w.leave(t, before)
		} else {
			before := w.fields
			w.flat(of, n, length)
			w.leave(t, before)
		}
	}
	return nil
}

// rest returns how many more elements of a list are in the rest of a message.
func (w *walk) rest(t *table, of *field, b []byte) (total int) {
	for fields := 1; len(b) > 0 && w.goesOn(fields); fields++ {
		field, kind, n := protowire.ConsumeTag(b)
		size := 0
		if n >= 0 {
			size = protowire.ConsumeFieldValue(field, kind, b[n:])
		}
		if n < 0 || size < 0 {
			break
		}
		if int(field) < len(t.fields) && &t.fields[field] == of {
			if of.kind == number && kind == protowire.BytesType {
				inner, _ := protowire.ConsumeBytes(b[n:])
				total += int(packed(inner))
			} else {
				total++
			}
		}
		b = b[n+size:]
	}
	return total
}

// fixed is the number of bytes of a value of fixed size.
func fixed(kind protowire.Type) int {
	if kind == protowire.Fixed64Type {
		return 8
	}
	return 4
}

// packed returns how many numbers are packed.
func packed(b []byte) (n int32) {
	for _, c := range b {
		n += int32(^c >> 7)
	}
	return n
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
	for fields := 1; w.position() < f.end && w.goesOn(fields); fields++ {
		tag, ok := w.varint(f.end)
		if !ok {
			break
		}
		same := tag>>3 < uint64(len(f.fields)) && &f.fields[tag>>3] == of
		n := 0
		switch protowire.Type(tag & 7) {
		case protowire.VarintType:
			_, ok = w.varint(f.end)
		case protowire.BytesType:
			n, ok = w.length(f.end)
		case protowire.Fixed32Type, protowire.Fixed64Type:
			n = fixed(protowire.Type(tag & 7))
			ok = n <= f.end-w.position()
		case protowire.StartGroupType, protowire.EndGroupType:
		default:
			ok = false
		}
		if !ok {
			break
		}
		next := w.position() + n
		switch {
		case same && of.kind == number && protowire.Type(tag&7) == protowire.BytesType:
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
		b.WriteString(in.name + w.index(&w.frames[i-1], in) + ".")
	}
	return b.String() + of.name
}

// index is the index of the current element of a field, empty if that is no list.
func (w *walk) index(f *frame, of *field) string {
	if of.counter < 0 {
		return ""
	}
	return "[" + strconv.Itoa(int(f.counts[of.counter]-1)) + "]"
}

// cursor is a position in an encoded message.
type cursor struct {
	pieces wire.Pieces
	piece  []byte // the current one
	at     int    // in the piece
	before int    // bytes of the pieces before the current one
}

func (c *cursor) position() int { return c.before + c.at }

// refill goes to the next piece that is not empty, if the current one has been read. It reports false at the end.
func (c *cursor) refill() bool {
	for c.at == len(c.piece) {
		if len(c.pieces) == 0 {
			return false
		}
		c.before += len(c.piece)
		c.piece, c.at, c.pieces = c.pieces[0], 0, c.pieces[1:]
	}
	return true
}

// varint reads a varint that must end before end.
func (c *cursor) varint(end int) (v uint64, ok bool) {
	if c.at < len(c.piece) && c.position() < end {
		if b := c.piece[c.at]; b < 0x80 {
			c.at++
			return uint64(b), true
		}
	}
	for shift := 0; shift < 64 && c.position() < end && c.refill(); shift += 7 {
		b := c.piece[c.at]
		c.at++
		v |= uint64(b&0x7f) << shift
		if b < 0x80 {
			return v, shift < 63 || b <= 1
		}
	}
	return 0, false
}

// length reads the length of a value that must end before end.
func (c *cursor) length(end int) (n int, ok bool) {
	v, ok := c.varint(end)
	return int(v), ok && v <= uint64(end-c.position())
}

// skipTo goes to a position that is not before the current one, or to the end.
func (c *cursor) skipTo(position int) {
	for position-c.before > len(c.piece) {
		c.at = len(c.piece)
		if !c.refill() {
			return
		}
	}
	c.at = max(position-c.before, c.at)
}

// chunk returns at most n of the next bytes.
func (c *cursor) chunk(n int) []byte {
	if !c.refill() {
		return nil
	}
	b := c.piece[c.at:min(c.at+n, len(c.piece))]
	c.at += len(b)
	return b
}
