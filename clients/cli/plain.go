package cli

import (
	"fmt"
	"io"
	"regexp"
	"strings"
	"unicode"
)

// plainWriter keeps control characters that manifests contain from a terminal, where they could move the cursor or change what was
// written.
type plainWriter struct {
	w io.Writer
	// ink says that the colours of report.Ink stay.
	ink bool
}

func (p plainWriter) Write(b []byte) (int, error) {
	if _, err := io.WriteString(p.w, plain(string(b), p.ink)); err != nil {
		return 0, err
	}
	return len(b), nil
}

// colours are the sequences of report.Ink.
var colours = regexp.MustCompile("\x1b\\[(0|1|3[123]|1;3[12])m")

// plain escapes control characters other than line ends and tabs, and colours unless they stay.
func plain(text string, ink bool) string {
	control := func(r rune) bool { return unicode.IsControl(r) && r != '\n' && r != '\t' }
	if strings.IndexFunc(text, control) < 0 {
		return text
	}
	escape := func(text string) string {
		var out strings.Builder
		for _, r := range text {
			if control(r) {
				fmt.Fprintf(&out, "\\x%02x", r)
			} else {
				out.WriteRune(r)
			}
		}
		return out.String()
	}
	if !ink {
		return escape(text)
	}
	var out strings.Builder
	end := 0
	for _, at := range colours.FindAllStringIndex(text, -1) {
		out.WriteString(escape(text[end:at[0]]) + text[at[0]:at[1]])
		end = at[1]
	}
	return out.String() + escape(text[end:])
}
