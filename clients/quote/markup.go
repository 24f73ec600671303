package quote

import (
	"bytes"
	"fmt"
	"io"
	"unicode/utf16"
	"unicode/utf8"
)

// XML returns a writer for a page or a picture whose markup is already escaped. It replaces characters that XML does not allow, and
// characters that would change how a browser shows the surrounding text. Each write must have whole characters, as writes of templates
// have.
func XML(w io.Writer) io.Writer { return writer{w, xml} }

func xml(text []byte) []byte {
	return bytes.Map(func(r rune) rune {
		if r != '\n' && r != '\t' && invisible(r) {
			return utf8.RuneError
		}
		return r
	}, text)
}

// JSON escapes the characters in JSON that Line escapes, so that a terminal can show it. The value remains the same. Outside of strings
// JSON has no such characters except line ends, tabs and carriage returns.
func JSON(text []byte) []byte {
	keep := func(r rune) bool { return !invisible(r) || r == utf8.RuneError || r < ' ' }
	if bytes.IndexFunc(text, func(r rune) bool { return !keep(r) }) < 0 {
		return text
	}
	var out bytes.Buffer
	for _, r := range string(text) {
		switch high, low := utf16.EncodeRune(r); {
		case keep(r):
			out.WriteRune(r)
		case high != utf8.RuneError:
			fmt.Fprintf(&out, `\u%04x\u%04x`, high, low)
		default:
			fmt.Fprintf(&out, `\u%04x`, r)
		}
	}
	return out.Bytes()
}

// Log returns a writer for the lines of a log in JSON.
func Log(w io.Writer) io.Writer { return writer{w, JSON} }

// writer writes text in another form.
type writer struct {
	io.Writer
	form func([]byte) []byte
}

func (w writer) Write(text []byte) (int, error) {
	if _, err := w.Writer.Write(w.form(text)); err != nil {
		return 0, err
	}
	return len(text), nil
}
