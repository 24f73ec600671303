package manifest

import (
	"bytes"
	"errors"
	"fmt"
	"io"
)

// Bounds of the input that is kept before it is recognized. MaximumBytes and MaximumObjects bound the recognized objects.
const (
	// maximumText bounds the text between two separators of YAML, which is kept to find the items of a list. It fits some 30,000
	// pods as kubectl prints them. JSON is read item by item.
	maximumText = 192 << 20
	// maximumObject bounds the text of one object, and the text around the items of a list. An API server accepts 3 MiB. Parsed
	// YAML takes up to 100 times the memory of its text.
	maximumObject = 8 << 20
)

var errTooLarge = fmt.Errorf("an object of more than %d bytes", maximumObject)

// bound bounds a number of bytes.
type bound struct{ maximum, left int64 }

// source reads a file up to its bounds. Its error is final.
type source struct {
	in io.Reader
	bound
	document int64 // of maximumText; negative for no bound
	err      error
}

// Read implements io.Reader.
func (s *source) Read(p []byte) (int, error) {
	if s.err != nil {
		return 0, s.err
	}
	n, err := s.in.Read(p)
	s.left -= int64(n)
	switch {
	case bytes.IndexByte(p[:n], 0) >= 0: // as in /dev/zero
		err = errors.New("not a text file: contains a NUL byte")
	case s.left < 0:
		err = fmt.Errorf("more than %d bytes of manifests", s.maximum)
	case s.document >= 0:
		if s.document = max(0, s.document-int64(n)); s.document == 0 {
			err = fmt.Errorf("a YAML document of more than %d bytes; JSON may have %d", maximumText, s.maximum)
		}
	}
	if s.err = err; err != nil && !errors.Is(err, io.EOF) {
		n = 0
	}
	return n, err
}
