package count

import (
	"context"
	"fmt"
	"strconv"

	"google.golang.org/protobuf/encoding/protowire"

	"github.com/stowage-scheduler/stowage/server/wire"
)

// Size is the size of a request.
type Size struct {
	// Items is the number of messages, elements of lists and entries of maps.
	Items int64
	// Bytes is an upper estimate of the memory that they take once decoded.
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

// perByte is the memory that each byte of a request takes in any case: a copy of it, and the text in the decoded values.
const perByte = 2

// walk is the state of counting. It is on the stack.
type walk struct {
	cursor
	ctx    context.Context
	ended  error
	fields int64 // about their number
	inside int64 // of them in elements of a cluster
	polled int64 // the number of fields at the last poll of the context
	size   Size
	frames [maxDepth + 1]frame
	depth  int
	whole  bool // goes on after lists that are too long
}

// Count counts an encoded request. The error is an *Excess, or the error of the context, which is polled now and then. Malformed
// input counts as it would be decoded until the decoder notices.
func (t *Table) Count(ctx context.Context, in wire.Pieces) (Size, error) {
	return t.count(&walk{ctx: ctx}, in)
}

// CountWhole is Count that also counts what is in and behind a list that is too long, which is no error.
func (t *Table) CountWhole(ctx context.Context, in wire.Pieces) (Size, error) {
	return t.count(&walk{ctx: ctx, whole: true}, in)
}

func (t *Table) count(w *walk, in wire.Pieces) (Size, error) {
	if len(in) == 1 {
		return w.sum(w.contiguous(t.root, in[0]), len(in[0]))
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

// atOnce is the number of fields between two polls of the context, which reports the request's end or waits for its turn.
const atOnce = 16 << 10

func (w *walk) poll() {
	w.polled = w.fields
	if w.ended == nil {
		w.ended = w.ctx.Err()
	}
}

// proceed polls the context every atOnce fields, and reports whether to continue.
func (w *walk) proceed(fields int) bool {
	if fields%atOnce == 0 {
		w.poll()
	}
	return w.ended == nil
}

// leave ends a message of a type. before is the number of fields counted when the message began.
func (w *walk) leave(in *table, before int64) {
	if in.cluster {
		w.inside += w.fields - before
		w.size.Largest = max(w.size.Largest, w.fields-before)
	}
}

// field counts a field of a message, and reports whether to continue. The elements of a cluster are decoded one after the other.
func (w *walk) field(in *table) bool {
	if w.fields++; in.cluster {
		w.inside++
	}
	if w.fields-w.polled > atOnce {
		w.poll()
	}
	return w.ended == nil
}

// flat counts fields that are not walked: packed numbers, and the fields of messages without lists.
func (w *walk) flat(of *field, n int32, bytes int) {
	switch of.kind {
	case number:
		w.fields += int64(n-1) / flatField
	case message:
		w.fields += int64(bytes) / flatField
	}
}

// add counts n elements of a field, which may be a list of a message with these counts. It reports whether they are too many.
func (w *walk) add(of *field, counts *[maxLists]int32, n int32) (tooMany bool) {
	w.size.Items += int64(n)
	weight := of.weight[0]
	if of.counter >= 0 {
		c := &counts[of.counter&(maxLists-1)]
		if *c += n; *c > many {
			weight = of.weight[1]
		} else if *c == n {
			w.size.Bytes += int64(of.first)
		}
		if of.limit > 0 && *c > of.limit && !w.whole {
			return true
		}
	}
	w.size.Bytes += int64(n) * int64(weight)
	return false
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

// index is the index of the current element of a field, empty if that is no list.
func index(of *field, counts *[maxLists]int32) string {
	if of.counter < 0 {
		return ""
	}
	return "[" + strconv.Itoa(int(counts[of.counter]-1)) + "]"
}
