package decode

import (
	"unicode/utf8"
	"unsafe"

	"google.golang.org/protobuf/encoding/protowire"
)

// scan reads the fields of one message in the usual encoding: fields ascend, elements of a list and entries of a map are adjacent,
// varints are minimal, zero values without presence are absent. A reader calls for each field in order and gets zero if another
// field comes next. Bytes that no reader took make the message unusual: unknown, repeated and misplaced fields.
type scan struct {
	data []byte
	at   int
	bad  bool
}

// tag is the encoded tag of a field: one byte below field 16, and from there on a second one in the upper half.
type tag uint16

func sized(field byte) tag { return tagOf(field, protowire.BytesType) }

func number(field byte) tag { return tagOf(field, protowire.VarintType) }

func tagOf(field byte, kind protowire.Type) tag {
	t := tag(field)<<3 | tag(kind)
	if t < 0x80 {
		return t
	}
	return t>>7<<8 | t&0x7f | 0x80
}

func (t tag) size() int {
	if t < 0x100 {
		return 1
	}
	return 2
}

// usual reports whether the whole message was read and was in the usual encoding.
func (s *scan) usual() bool { return !s.bad && s.at == len(s.data) }

func (s *scan) fail() { s.at, s.bad = len(s.data), true }

// next skips a tag if it is next, and reports whether it was.
func (s *scan) next(t tag) bool {
	if s.at < len(s.data) && s.data[s.at] == byte(t) && (t < 0x100 || s.hasSecond(t)) {
		s.at += t.size()
		return true
	}
	return false
}

// nextIs reports whether a tag is next.
func (s *scan) nextIs(t tag) bool {
	return s.at < len(s.data) && s.data[s.at] == byte(t) && (t < 0x100 || s.hasSecond(t))
}

func (s *scan) hasSecond(t tag) bool { return s.at+1 < len(s.data) && s.data[s.at+1] == byte(t>>8) }

// text reads a string field without presence.
func (s *scan) text(field byte) string {
	if !s.next(sized(field)) {
		return ""
	}
	t := s.stringValue()
	if t == "" {
		s.fail()
	}
	return t
}

// int32 reads an int32 or enum field without presence.
func (s *scan) int32(field byte) int32 {
	if !s.next(number(field)) {
		return 0
	}
	v := s.int32Value()
	if v == 0 {
		s.fail()
	}
	return v
}

// uint32 reads a uint32 field without presence.
func (s *scan) uint32(field byte) uint32 {
	if !s.next(number(field)) {
		return 0
	}
	v := s.uint32Value()
	if v == 0 {
		s.fail()
	}
	return v
}

// int64 reads an int64 field without presence.
func (s *scan) int64(field byte) int64 {
	if !s.next(number(field)) {
		return 0
	}
	v := s.varint()
	if v == 0 {
		s.fail()
	}
	return int64(v)
}

// int64Value reads the value of an int64 field with presence.
func (s *scan) int64Value() int64 { return int64(s.varint()) }

// bool reads a bool field without presence.
func (s *scan) bool(field byte) bool {
	if !s.next(number(field)) {
		return false
	}
	if s.varint() != 1 {
		s.fail()
	}
	return true
}

func (s *scan) varint() uint64 {
	if s.at < len(s.data) && s.data[s.at] < 0x80 {
		v := s.data[s.at]
		s.at++
		return uint64(v)
	}
	if s.at+1 < len(s.data) && s.data[s.at+1]-1 < 0x7f {
		v := uint64(s.data[s.at]&0x7f) | uint64(s.data[s.at+1])<<7
		s.at += 2
		return v
	}
	v, n := protowire.ConsumeVarint(s.data[s.at:])
	if n < 0 || n > 1 && s.data[s.at+n-1] == 0 {
		s.fail()
		return 0
	}
	s.at += n
	return v
}

func (s *scan) int32Value() int32 {
	v := s.varint()
	if uint64(int64(int32(v))) != v {
		s.fail()
	}
	return int32(v)
}

func (s *scan) uint32Value() uint32 {
	v := s.varint()
	if uint64(uint32(v)) != v {
		s.fail()
	}
	return uint32(v)
}

func (s *scan) bytes() []byte {
	n := s.varint()
	if s.bad || n > uint64(len(s.data)-s.at) {
		s.fail()
		return nil
	}
	from := s.at
	s.at += int(n)
	return s.data[from:s.at:s.at]
}

// stringValue returns a string that shares memory with the message.
func (s *scan) stringValue() string {
	b := s.bytes()
	if !utf8.Valid(b) {
		s.fail()
	}
	return text(b)
}

func text(b []byte) string { return unsafe.String(unsafe.SliceData(b), len(b)) }

// since returns the bytes read from an offset on.
func (s *scan) since(from int) []byte { return s.data[from:s.at:s.at] }

// count returns the number of adjacent fields with a tag. The tag of the first was read.
func (s *scan) count(t tag) int {
	ahead := *s
	n := 1
	for ahead.bytes(); ahead.next(t); ahead.bytes() {
		n++
	}
	if ahead.bad {
		s.fail()
		return 0
	}
	return n
}

// skip skips the fields that count counted.
func (s *scan) skip(t tag, n int) {
	for range n {
		s.bytes()
		s.next(t)
	}
}
