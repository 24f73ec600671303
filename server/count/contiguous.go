package count

import (
	"google.golang.org/protobuf/encoding/protowire"
)

// contiguous is run for a message that is in one piece, as nearly all are.
func (w *walk) contiguous(t *table, b []byte) *Excess {
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
		if !w.field(t) {
			return nil
		}
		kind := protowire.Type(tag & 7)
		if kind == protowire.StartGroupType || kind == protowire.EndGroupType {
			continue
		}
		value, end := i+1, i+1
		switch { // most values and lengths are one byte
		case i < len(b) && kind == protowire.VarintType && b[i] < 0x80:
		case i < len(b) && kind == protowire.BytesType && b[i] < 0x80 && int(b[i]) < len(b)-i:
			end += int(b[i])
		default:
			if value, end = valueIn(b, i, kind); end < 0 {
				return nil
			}
		}
		if i = end; tag>>3 >= uint64(len(t.fields)) {
			continue
		}
		of := &t.fields[tag>>3]
		if of.kind == unread || kind != protowire.BytesType && of.kind != number {
			continue
		}
		n := int32(1)
		if of.kind == number && kind == protowire.BytesType {
			n = packed(b[value:i])
		}
		if w.add(of, &counts, n) {
			return &Excess{Field: of.name, Items: int(counts[of.counter]) + w.rest(t, of, b[i:]), Limit: int(of.limit)}
		}
		before := w.fields
		if i > value && of.kind == message && !of.inner.flat {
			if excess := w.contiguous(of.inner, b[value:i]); excess != nil {
				excess.Field = of.name + index(of, &counts) + "." + excess.Field
				return excess
			}
		} else {
			w.flat(of, n, i-value)
		}
		w.leave(t, before)
	}
	return nil
}

// valueIn returns where the value of a field begins that is next in b, behind its length, and where it ends, below 0 if not in b. A number
// begins where it ends.
func valueIn(b []byte, i int, kind protowire.Type) (value, end int) {
	switch kind {
	case protowire.VarintType:
		n := 1
		if i == len(b) || b[i] >= 0x80 {
			if _, n = protowire.ConsumeVarint(b[i:]); n < 0 {
				return 0, -1
			}
		}
		return i + n, i + n
	case protowire.BytesType:
		if i == len(b) {
			return 0, -1
		}
		length := int(b[i])
		if i++; length >= 0x80 {
			v, n := protowire.ConsumeVarint(b[i-1:])
			if n < 0 || v > uint64(len(b)) {
				return 0, -1
			}
			length, i = int(v), i-1+n
		}
		if length > len(b)-i {
			return 0, -1
		}
		return i, i + length
	case protowire.Fixed32Type, protowire.Fixed64Type:
		if i += fixed(kind); i <= len(b) {
			return i, i
		}
	}
	return 0, -1
}

// rest returns how many more elements of a list are in the rest of a message.
func (w *walk) rest(t *table, of *field, b []byte) (total int) {
	for fields := 1; len(b) > 0 && w.proceed(fields); fields++ {
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
