package decode

import (
	"unicode/utf8"
	"unsafe"

	"google.golang.org/protobuf/encoding/protowire"
)

// scan reads fields of the wire in their usual form: varints without padding. Anything else is bad.
type scan struct {
	data []byte
	at   int
	bad  bool
}

// more reports whether there is more to read.
func (s *scan) more() bool { return s.at < len(s.data) }

func (s *scan) tag() (protowire.Number, protowire.Type) {
	v := s.varint()
	if number := v >> 3; number == 0 || number > uint64(protowire.MaxValidNumber) {
		s.fail()
		return 0, 0
	}
	return protowire.Number(v >> 3), protowire.Type(v & 7)
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

// string reads a string. It lies in the wire's bytes.
func (s *scan) string() string {
	b := s.bytes()
	if !utf8.Valid(b) {
		s.fail()
	}
	return unsafe.String(unsafe.SliceData(b), len(b))
}

func (s *scan) fail() { s.at, s.bad = len(s.data), true }

// since returns what was read since it stood somewhere.
func (s *scan) since(from int) []byte { return s.data[from:s.at] }

// mapKey reads the key of a map's entry, and valueTag whether the value follows.
func (s *scan) mapKey() string {
	if field, kind := s.tag(); field != 1 || kind != protowire.BytesType {
		s.fail()
	}
	return s.string()
}

func (s *scan) valueTag(kind protowire.Type) {
	if field, k := s.tag(); field != 2 || k != kind {
		s.fail()
	}
}

// label reads an entry of labels that may be one.
func (s *scan) label() (key, value string, ok bool) {
	entry := scan{data: s.bytes()}
	key = entry.mapKey()
	entry.valueTag(protowire.BytesType)
	value = entry.string()
	ok = !s.bad && !entry.bad && !entry.more() &&
		key != "" && len(key) <= MaxLabelKeyBytes && len(value) <= MaxLabelValueBytes
	return key, value, ok
}
