package decode

import (
	"unicode/utf8"
	"unsafe"

	"google.golang.org/protobuf/encoding/protowire"
)

// scan reads fields of the wire in their usual form: varints without padding. Anything else is bad.
type scan struct {
	rest []byte
	bad  bool
}

func (s *scan) tag() (protowire.Number, protowire.Type) {
	v := s.varint()
	return protowire.Number(v >> 3), protowire.Type(v & 7)
}

func (s *scan) varint() uint64 {
	if len(s.rest) > 0 && s.rest[0] < 0x80 {
		v := s.rest[0]
		s.rest = s.rest[1:]
		return uint64(v)
	}
	v, n := protowire.ConsumeVarint(s.rest)
	if n < 0 || n > 1 && s.rest[n-1] == 0 {
		s.fail()
		return 0
	}
	s.rest = s.rest[n:]
	return v
}

func (s *scan) bytes() []byte {
	n := s.varint()
	if s.bad || n > uint64(len(s.rest)) {
		s.fail()
		return nil
	}
	b := s.rest[:n:n]
	s.rest = s.rest[n:]
	return b
}

// string reads a string. It lies in the wire's bytes.
func (s *scan) string() string {
	b := s.bytes()
	if !utf8.Valid(b) {
		s.fail()
	}
	return unsafe.String(unsafe.SliceData(b), len(b))
}

func (s *scan) fail() { s.rest, s.bad = nil, true }

// since returns what was read since the rest was from.
func (s *scan) since(from []byte) []byte { return from[:len(from)-len(s.rest)] }

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
	entry := scan{rest: s.bytes()}
	key = entry.mapKey()
	entry.valueTag(protowire.BytesType)
	value = entry.string()
	ok = !s.bad && !entry.bad && len(entry.rest) == 0 &&
		key != "" && len(key) <= MaxLabelKeyBytes && len(value) <= MaxLabelValueBytes
	return key, value, ok
}
