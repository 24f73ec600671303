package manifest

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
)

// scanner reads a JSON object from a stream and extracts the elements of its "items", without decoding. It finds the ends of
// strings, objects and arrays; decoding the parts shows whether they are JSON. If they are, so is the whole.
type scanner struct {
	in *bufio.Reader
	// at is the number of scanned bytes of the buffer. None are discarded while held.
	at   int
	held bool

	opened func(before []byte) // the array begins; before is the object up to there
	item   func(text []byte) error

	depth          int
	inString       bool
	escaped        bool // the next byte of the string
	keyFrom, keyTo int  // the last string at depth 1, in rest
	items          itemsState
	more           bool // a comma came before this item
	rest, text     []byte
}

type itemsState int

const (
	itemsBefore  itemsState = iota
	itemsAwaited            // after the key
	itemsInside
	itemsAfter
)

// class is what a byte outside of strings is in JSON.
type class uint8

const (
	illegal class = iota
	blank
	quotation
	opening
	closing
	comma
	colon
	literal
)

var classes = func() (out [256]class) {
	for _, of := range []struct {
		chars string
		class class
	}{
		{" \t\r\n", blank}, {`"`, quotation}, {"{[", opening}, {"}]", closing}, {",", comma}, {":", colon},
		{"0123456789+-.eEtrufalsn", literal},
	} {
		for _, b := range []byte(of.chars) {
			out[b] = of.class
		}
	}
	return out
}()

// startsJSON reports whether the first byte that is not blank is an opening brace. It consumes nothing.
func startsJSON(in *bufio.Reader) bool {
	for n := 1; ; n++ {
		if _, err := in.Peek(n); err != nil {
			return false
		}
		text, _ := in.Peek(in.Buffered())
		n += blanks(text[n-1:]) - 1
		if n < len(text) {
			return text[n] == '{'
		}
	}
}

// object scans an object, and returns it with an empty array as its items.
func (s *scanner) object() (rest []byte, err error) {
	for {
		chunk, err := s.chunk()
		if err != nil {
			return s.rest, err
		}
		n, done, err := s.feed(chunk)
		s.at += n
		if err != nil {
			return s.rest, err
		}
		if len(s.rest) > maximumObject || len(s.text) > maximumObject {
			return nil, errTooLarge
		}
		if done {
			return s.rest, nil
		}
	}
}

// chunk returns bytes that are not scanned yet.
func (s *scanner) chunk() ([]byte, error) {
	if !s.held || s.at == s.in.Size() {
		s.held = false
		if err := s.discard(); err != nil {
			return nil, err
		}
	}
	if _, err := s.in.Peek(s.at + 1); err != nil {
		if errors.Is(err, io.EOF) {
			err = io.ErrUnexpectedEOF
		}
		return nil, err
	}
	text, err := s.in.Peek(s.in.Buffered())
	return text[s.at:], err
}

// discard removes the scanned bytes from the stream.
func (s *scanner) discard() error {
	_, err := s.in.Discard(s.at)
	s.at = 0
	return err
}

func (s *scanner) feed(chunk []byte) (n int, done bool, err error) {
	from := 0
	flush := func(to int) {
		s.keep(chunk[from:to])
		from = to
	}
	for n < len(chunk) {
		if s.inString {
			n += s.skipString(chunk[n:])
			if !s.inString && s.depth == 1 {
				s.keyTo = len(s.rest) + n - from
			}
			continue
		}
		c := chunk[n]
		switch classes[c] {
		case blank:
			n += blanks(chunk[n:])
			continue
		case quotation:
			s.inString = true
			if s.depth == 1 {
				s.keyFrom = len(s.rest) + n - from
				s.unless()
			}
		case opening:
			s.depth++
			if s.depth == 2 && s.items == itemsAwaited && c == '[' {
				flush(n + 1)
				s.items = itemsInside
				s.opened(s.rest)
			}
			s.unless()
		case closing:
			if s.depth == 2 && s.items == itemsInside {
				flush(n)
				if err := s.endItem(c != ']', !s.more); err != nil {
					return n, false, err
				}
				s.items = itemsAfter
			}
			if s.depth--; s.depth == 0 {
				flush(n + 1)
				return n + 1, true, nil
			}
		case comma:
			if s.depth == 2 && s.items == itemsInside {
				flush(n)
				if err := s.endItem(false, false); err != nil {
					return n, false, err
				}
				s.more = true
				from = n + 1
			}
		case colon:
			if s.depth == 1 && s.items == itemsBefore {
				flush(n)
				s.await()
			}
		case illegal:
			return n, false, fmt.Errorf("invalid character %q in JSON", c)
		case literal:
			s.unless()
		}
		n++
	}
	flush(len(chunk))
	return n, false, nil
}

// keep keeps text of an item, or of the rest.
func (s *scanner) keep(text []byte) {
	if s.items == itemsInside {
		s.text = append(s.text, text...)
	} else {
		s.rest = append(s.rest, text...)
	}
}

// await expects items after their key.
func (s *scanner) await() {
	if string(s.rest[s.keyFrom:s.keyTo]) == `"items"` {
		s.items = itemsAwaited
	}
}

// unless gives up on items whose value is not an array.
func (s *scanner) unless() {
	if s.items == itemsAwaited {
		s.items = itemsBefore
	}
}

func (s *scanner) endItem(mismatched, mayBeEmpty bool) error {
	text := bytes.TrimSpace(s.text)
	s.text = s.text[:0]
	switch {
	case mismatched:
		return errors.New("invalid character '}' after array element in JSON")
	case len(text) > 0:
		return s.item(text)
	case !mayBeEmpty:
		return errors.New("invalid character ',' in JSON: an item is missing")
	}
	return nil
}

// skipString returns the length of the rest of a string, up to the end of text.
func (s *scanner) skipString(text []byte) int {
	i := 0
	if s.escaped {
		i, s.escaped = 1, false
	}
	for end := -1; ; {
		if end < i {
			if end = bytes.IndexByte(text[i:], '"'); end < 0 {
				end = len(text)
			} else {
				end += i
			}
		}
		escape := bytes.IndexByte(text[i:end], '\\')
		switch {
		case escape < 0 && end < len(text):
			s.inString = false
			return end + 1
		case escape < 0:
			return len(text)
		}
		if i += escape + 2; i > len(text) {
			s.escaped = true
			return len(text)
		}
	}
}

// blanks is the number of leading blanks.
func blanks(text []byte) int {
	const eight = 0x2020202020202020
	n := 0
	for n < len(text) && classes[text[n]] == blank {
		n++
		for len(text)-n >= 8 && binary.LittleEndian.Uint64(text[n:]) == eight {
			n += 8
		}
	}
	return n
}
