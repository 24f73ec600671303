package manifest

import (
	"bytes"
	"io"
	"strings"
	"testing"
)

// blankText is copied, as the race detector watches each byte that a loop writes.
var blankText = bytes.Repeat([]byte{' '}, 64<<10)

// space is a text of so many bytes.
type space int64

func (b *space) Read(p []byte) (int, error) {
	if *b == 0 {
		return 0, io.EOF
	}
	n := copy(p[:min(int64(len(p)), int64(*b))], blankText)
	*b -= space(n)
	return n, nil
}

// limit is the bound of the tests.
const limit int64 = 1 << 20

// TestBytesAreBounded reads as many bytes as manifests may have in all, and one more, and a byte that no text has.
func TestBytesAreBounded(t *testing.T) {
	for more, want := range map[int64]string{0: "", 1: "more than 1048576 bytes of manifests"} {
		text := space(limit + more)
		n, err := io.Copy(io.Discard, &source{in: &text, bound: bound{limit, limit}, document: -1})
		if (err != nil) != (want != "") || err != nil && err.Error() != want || err == nil && n != limit {
			t.Errorf("%d more than the limit: %d bytes, %v", more, n, err)
		}
	}
	if _, err := io.ReadAll(&source{in: strings.NewReader("a\x00"), bound: bound{limit, limit}, document: -1}); err == nil {
		t.Error("a byte 0 is read")
	}
}

// TestDocumentsAreBounded reads as many bytes as a document in YAML may have, and one more.
func TestDocumentsAreBounded(t *testing.T) {
	for more, refused := range map[int64]bool{0: false, 1: true} {
		text := space(maximumText + more)
		if _, err := io.Copy(io.Discard, &source{in: &text, bound: bound{MaximumBytes, MaximumBytes}, document: maximumText + 1}); (err != nil) != refused {
			t.Errorf("%d more than the limit: %v", more, err)
		}
	}
}
