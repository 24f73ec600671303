package decode

import (
	"unicode/utf8"
	"unsafe"

	"google.golang.org/protobuf/encoding/protowire"
)

// scan reads the fields of one message in the usual encoding: in ascending order, the elements of a list and the entries of
// a map side by side, varints without padding, nothing written that is zero and has no presence. Anything else is bad.
type scan struct {
	data []byte
	at   int
	last uint64 // the number of the field before
	bad  bool
}

// sized and number are the tags of fields.
func sized(field uint64) uint64 { return field<<3 | uint64(protowire.BytesType) }

func number(field uint64) uint64 { return field<<3 | uint64(protowire.VarintType) }

// more reports whether there is more to read.
func (s *scan) more() bool { return s.at < len(s.data) }

func (s *scan) fail() { s.at, s.bad = len(s.data), true }

// next reads a tag.
func (s *scan) next() uint64 {
	tag := s.varint()
	if tag>>3 <= s.last {
		s.fail()
		return 0
	}
	s.last = tag >> 3
	return tag
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

// nonzero reads a number of 32 bits that is left out where it is 0.
func (s *scan) nonzero() int32 {
	v := s.int32()
	if v == 0 {
		s.fail()
	}
	return v
}

// int32 and uint32 read numbers with presence, which may be 0.
func (s *scan) int32() int32 {
	v := s.varint()
	if uint64(int64(int32(v))) != v {
		s.fail()
	}
	return int32(v)
}

func (s *scan) uint32() uint32 {
	v := s.varint()
	if uint64(uint32(v)) != v {
		s.fail()
	}
	return uint32(v)
}

// positive reads an unsigned number of 32 bits that is left out where it is 0.
func (s *scan) positive() uint64 {
	v := s.uint32()
	if v == 0 {
		s.fail()
	}
	return uint64(v)
}

// yes reads a bool, which is left out where it is false.
func (s *scan) yes() bool {
	if s.varint() != 1 {
		s.fail()
	}
	return true
}

// skip skips a number of one byte, such as a tag, and reports whether it was there.
func (s *scan) skip(number uint64) bool {
	if !s.more() || uint64(s.data[s.at]) != number {
		return false
	}
	s.at++
	return true
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

// string reads a string, which lies in the wire's bytes.
func (s *scan) string() string {
	b := s.bytes()
	if !utf8.Valid(b) {
		s.fail()
	}
	return text(b)
}

// text reads a string that is left out where it is empty.
func (s *scan) text() string {
	t := s.string()
	if t == "" {
		s.fail()
	}
	return t
}

func text(b []byte) string { return unsafe.String(unsafe.SliceData(b), len(b)) }

// since returns what was read since it stood somewhere.
func (s *scan) since(from int) []byte { return s.data[from:s.at:s.at] }

// count returns how many fields of bytes with a tag of one byte follow one another. The tag of the first has been read.
func (s *scan) count(tag uint64) int {
	ahead := *s
	n := 1
	for ahead.bytes(); ahead.skip(tag); ahead.bytes() {
		n++
	}
	if ahead.bad {
		s.fail()
		return 0
	}
	return n
}

// pass passes fields that count counted.
func (s *scan) pass(tag uint64, n int) {
	for range n {
		s.bytes()
		s.skip(tag)
	}
}

// strings reads a list of strings, the tag of the first of which has been read.
func (s *scan) strings(tag uint64) []string {
	out := make([]string, s.count(tag))
	for i := range out {
		out[i] = s.string()
		s.skip(tag)
	}
	return out
}
