package encode

import (
	"encoding/binary"
	"slices"

	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"
)

// encoder writes a message in its wire form. Columns and lists of nodes, nearly all of an answer, it writes itself, in a
// third of the time that the protobuf library takes; the rest goes through messages.
type encoder struct {
	b     []byte
	names Names
	err   error
}

// message writes the fields of a message.
func (e *encoder) message(m proto.Message) {
	b, err := proto.MarshalOptions{Deterministic: true}.MarshalAppend(e.b, m)
	if err != nil {
		e.err = err
		return
	}
	e.b = b
}

// sized writes a field whose length is known once its body is written.
func (e *encoder) sized(field protowire.Number, body func()) {
	e.b = protowire.AppendTag(e.b, field, protowire.BytesType)
	const guess = 2
	start := len(e.b)
	e.b = append(e.b, make([]byte, guess)...)
	body()
	length := uint64(len(e.b) - start - guess)
	size := protowire.SizeVarint(length)
	if size != guess {
		e.b = append(e.b, make([]byte, max(size-guess, 0))...)
		copy(e.b[start+size:], e.b[start+guess:start+guess+int(length)])
		e.b = e.b[:start+size+int(length)]
	}
	protowire.AppendVarint(e.b[start:start], length)
}

// nodes writes a NodeList.
func (e *encoder) nodes(field protowire.Number, indexes []uint32) {
	e.sized(field, func() {
		packed(e, 1, indexes)
		if e.names != nil {
			for _, node := range indexes {
				e.b = protowire.AppendTag(e.b, 2, protowire.BytesType)
				e.b = protowire.AppendString(e.b, e.names[node])
			}
		}
	})
}

// packed writes a repeated field of numbers.
func packed[T uint32 | int64](e *encoder, field protowire.Number, column []T) {
	if len(column) == 0 {
		return
	}
	var all T
	for _, v := range column {
		all |= v
	}
	widest := protowire.SizeVarint(uint64(all))
	e.sized(field, func() {
		start := len(e.b)
		e.b = slices.Grow(e.b, widest*len(column))
		n := putVarints(e.b[start:start+widest*len(column)], column)
		e.b = e.b[:start+n]
	})
}

// putVarints writes numbers and returns how many bytes they take, of which there must be enough.
func putVarints[T uint32 | int64](to []byte, column []T) (n int) {
	for ; len(column) >= 4; column = column[4:] {
		// Four at once are of one length nearly always.
		a, b, c, d := uint64(column[0]), uint64(column[1]), uint64(column[2]), uint64(column[3])
		switch bits, least := a|b|c|d, (a-1<<7)|(b-1<<7)|(c-1<<7)|(d-1<<7); {
		case bits < 1<<14 && least>>63 == 0:
			binary.LittleEndian.PutUint64(to[n:], twoBytes(a)|twoBytes(b)<<16|twoBytes(c)<<32|twoBytes(d)<<48)
			n += 8
		case bits < 1<<7:
			binary.LittleEndian.PutUint32(to[n:], uint32(a|b<<8|c<<16|d<<24))
			n += 4
		default:
			for _, v := range column[:4] {
				n += binary.PutUvarint(to[n:], uint64(v))
			}
		}
	}
	for _, v := range column {
		n += binary.PutUvarint(to[n:], uint64(v))
	}
	return n
}

// twoBytes is the encoding of a number from 1<<7 to 1<<14-1, in the order of little-endian bytes.
func twoBytes(u uint64) uint64 { return u&0x7f | 0x80 | u>>7<<8 }

// listBytes is about what nodes writes of indexes, the last of which is the largest.
func listBytes(indexes []uint32) int {
	if len(indexes) == 0 {
		return 8
	}
	return 8 + len(indexes)*protowire.SizeVarint(uint64(indexes[len(indexes)-1]))
}

// besides is for what an answer has besides lists and columns of nodes.
const besides = 256
