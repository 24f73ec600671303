package wire

import (
	"google.golang.org/grpc/mem"
	"google.golang.org/protobuf/encoding/protowire"
)

// Pieces is a protobuf message in its wire form, cut into pieces anywhere. Messages that follow one another are one
// message: protobuf appends their lists.
type Pieces [][]byte

// Len returns the number of bytes.
func (p Pieces) Len() int {
	n := 0
	for _, b := range p {
		n += len(b)
	}
	return n
}

// Reader reads the fields of a message. A copy goes on from where it was made.
type Reader struct {
	pieces    Pieces
	piece, at int // the place of the next byte, unless the piece ends there
	left      int // bytes
}

// NewReader returns a reader that stands before the first field.
func NewReader(p Pieces) *Reader { return &Reader{pieces: p, left: p.Len()} }

// Left returns how many bytes are not read yet.
func (r *Reader) Left() int { return r.left }

// Done reports whether the message is read.
func (r *Reader) Done() bool { return r.left == 0 }

// Next reads a field's tag, and with a field of bytes their number; other values are skipped. It reports whether that
// was well-formed. The bytes must be taken or skipped before the next field.
func (r *Reader) Next() (field protowire.Number, bytes int, ok bool) {
	field, kind, ok := r.tag()
	if !ok {
		return 0, 0, false
	}
	if kind == protowire.BytesType {
		n, ok := r.length()
		return field, n, ok
	}
	return field, -1, r.skipValue(field, kind, 0)
}

func (r *Reader) tag() (protowire.Number, protowire.Type, bool) {
	tag, ok := r.varint()
	field, kind := protowire.DecodeTag(tag)
	return field, kind, ok && field >= protowire.MinValidNumber && field <= protowire.MaxValidNumber
}

func (r *Reader) length() (int, bool) {
	n, ok := r.varint()
	if !ok || n > uint64(r.left) {
		return 0, false
	}
	return int(n), true
}

// skipValue skips a value, which may be a group: no message of the contract has any, but protobuf skips them.
func (r *Reader) skipValue(field protowire.Number, kind protowire.Type, depth int) bool {
	switch kind {
	case protowire.VarintType:
		_, ok := r.varint()
		return ok
	case protowire.Fixed32Type:
		return r.Skip(4)
	case protowire.Fixed64Type:
		return r.Skip(8)
	case protowire.BytesType:
		n, ok := r.length()
		return ok && r.Skip(n)
	case protowire.StartGroupType:
		for depth < protowire.DefaultRecursionLimit {
			inner, kind, ok := r.tag()
			if ok && kind == protowire.EndGroupType {
				return inner == field
			}
			if !ok || !r.skipValue(inner, kind, depth+1) {
				return false
			}
		}
	}
	return false
}

// Take returns the next n bytes. If they lie in several pieces, they are put together at the end of a buffer.
func (r *Reader) Take(n int, buffer *[]byte) []byte {
	if rest := r.rest(); n <= len(rest) {
		r.pass(n)
		return rest[:n:n]
	}
	return r.Copy(n, buffer)
}

// Copy returns a copy of the next n bytes, at the end of a buffer.
func (r *Reader) Copy(n int, buffer *[]byte) []byte {
	from := len(*buffer)
	r.each(n, func(b []byte) { *buffer = append(*buffer, b...) })
	return (*buffer)[from:]
}

// Cut returns the next n bytes as they lie.
func (r *Reader) Cut(n int) Pieces {
	var cut Pieces
	r.each(n, func(b []byte) { cut = append(cut, b) })
	return cut
}

// Skip leaves out n bytes and reports whether there were as many.
func (r *Reader) Skip(n int) bool {
	if n > r.left {
		return false
	}
	for n > 0 {
		k := min(n, len(r.rest()))
		r.pass(k)
		n -= k
	}
	return true
}

// each hands out the next n bytes, which there must be.
func (r *Reader) each(n int, use func([]byte)) {
	for n > 0 {
		rest := r.rest()
		k := min(n, len(rest))
		use(rest[:k])
		r.pass(k)
		n -= k
	}
}

// rest returns what is left of a piece, nothing only at the end.
func (r *Reader) rest() []byte {
	for ; r.piece < len(r.pieces); r.piece, r.at = r.piece+1, 0 {
		if rest := r.pieces[r.piece][r.at:]; len(rest) > 0 {
			return rest
		}
	}
	return nil
}

// pass passes bytes of one piece.
func (r *Reader) pass(n int) {
	r.at += n
	r.left -= n
}

func (r *Reader) varint() (v uint64, ok bool) {
	for shift := 0; shift < 64; shift += 7 {
		rest := r.rest()
		if len(rest) == 0 {
			return 0, false
		}
		b := rest[0]
		r.pass(1)
		v |= uint64(b&0x7f) << shift
		if b < 0x80 {
			return v, shift < 63 || b < 2
		}
	}
	return 0, false
}

func piecesOf(data mem.BufferSlice) Pieces {
	p := make(Pieces, len(data))
	for i, b := range data {
		p[i] = b.ReadOnlyData()
	}
	return p
}
