package wire

import (
	"slices"

	"google.golang.org/grpc/mem"
	"google.golang.org/protobuf/encoding/protowire"
)

// Pieces is an encoded protobuf message, split at arbitrary offsets. Concatenated messages are one message: protobuf merges
// them.
type Pieces [][]byte

// Len returns the number of bytes.
func (p Pieces) Len() int {
	n := 0
	for _, b := range p {
		n += len(b)
	}
	return n
}

// Reader reads the fields of a message. A copy of a Reader continues from the same position.
type Reader struct {
	pieces    Pieces
	piece, at int // position of the next byte; at may be the end of the piece
	left      int // unread bytes
}

// NewReader returns a reader at the first field.
func NewReader(p Pieces) *Reader { return &Reader{pieces: p, left: p.Len()} }

// Left returns the number of unread bytes.
func (r *Reader) Left() int { return r.left }

// Done reports whether no bytes are left.
func (r *Reader) Done() bool { return r.left == 0 }

// Next reads a field's tag. It returns the length of a length-delimited field and -1 for other fields, whose value it skips.
// It fails on malformed input. The caller must take or skip the bytes before the next field.
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

// skipValue skips a value. Groups are skipped as protobuf does, although the contract has none.
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

// Take returns the next n bytes: from the piece if it has all of them, otherwise a copy appended to buffer.
func (r *Reader) Take(n int, buffer *[]byte) []byte {
	if rest := r.rest(); n <= len(rest) {
		r.advance(n)
		return rest[:n:n]
	}
	return r.Copy(n, buffer)
}

// Copy returns a copy of the next n bytes, appended to buffer.
func (r *Reader) Copy(n int, buffer *[]byte) []byte {
	from := len(*buffer)
	*buffer = r.append(*buffer, n)
	return (*buffer)[from:]
}

// append appends the next n bytes to b.
func (r *Reader) append(b []byte, n int) []byte {
	b = slices.Grow(b, n)
	r.each(n, func(piece []byte) { b = append(b, piece...) })
	return b
}

// Cut returns the next n bytes without copying them.
func (r *Reader) Cut(n int) Pieces {
	var cut Pieces
	r.each(n, func(b []byte) { cut = append(cut, b) })
	return cut
}

// Skip skips n bytes. It returns false if fewer are left.
func (r *Reader) Skip(n int) bool {
	if n > r.left {
		return false
	}
	for n > 0 {
		k := min(n, len(r.rest()))
		r.advance(k)
		n -= k
	}
	return true
}

// each calls use with the next n bytes, piece by piece. At least n bytes must be left.
func (r *Reader) each(n int, use func([]byte)) {
	for n > 0 {
		rest := r.rest()
		k := min(n, len(rest))
		use(rest[:k])
		r.advance(k)
		n -= k
	}
}

// rest returns the unread bytes of the current piece. It is empty only at the end of the message.
func (r *Reader) rest() []byte {
	for ; r.piece < len(r.pieces); r.piece, r.at = r.piece+1, 0 {
		if rest := r.pieces[r.piece][r.at:]; len(rest) > 0 {
			return rest
		}
	}
	return nil
}

// advance advances within a piece.
func (r *Reader) advance(n int) {
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
		r.advance(1)
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
