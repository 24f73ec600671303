package quote

import (
	"fmt"
	"io"
	"reflect"
	"strings"
	"unicode"
	"unicode/utf8"
)

// invisible reports whether a character would change how a terminal, an editor or a browser shows others: control characters, line and
// paragraph separators, and format characters, which for example turn the direction of text or join letters.
func invisible(r rune) bool {
	return r >= 0x7f && (unicode.In(r, unicode.Cc, unicode.Cf, unicode.Co, unicode.Zl, unicode.Zp) || r == utf8.RuneError || r&0xfffe == 0xfffe) ||
		r < ' '
}

// escaped writes a character as Go does.
func escaped(r rune) string {
	switch {
	case r == '\n':
		return `\n`
	case r == '\r':
		return `\r`
	case r == '\t':
		return `\t`
	case r < 0x100:
		return fmt.Sprintf(`\x%02x`, r)
	case r < 0x10000:
		return fmt.Sprintf(`\u%04x`, r)
	}
	return fmt.Sprintf(`\U%08x`, r)
}

// Line escapes all invisible characters of a text, so that it stays on its line and does not change the text around it.
func Line(text string) string { return escape(text, invisible) }

// Lines is Line for a text of several lines. Lines after the first are indented, so that none resembles a line of the program.
func Lines(text string) string {
	lines := strings.Split(strings.TrimRight(text, "\n"), "\n")
	for i, line := range lines {
		if lines[i] = Line(line); i > 0 && !strings.HasPrefix(line, " ") {
			lines[i] = "  " + lines[i]
		}
	}
	return strings.Join(lines, "\n")
}

func escape(text string, which func(rune) bool) string {
	if strings.IndexFunc(text, which) < 0 {
		return text
	}
	var out strings.Builder
	for i, r := range text {
		switch {
		case !which(r) || r == utf8.RuneError && strings.HasPrefix(text[i:], string(r)):
			out.WriteRune(r)
		case r == utf8.RuneError: // no UTF-8
			fmt.Fprintf(&out, `\x%02x`, text[i])
		default:
			out.WriteString(escaped(r))
		}
	}
	return out.String()
}

// Fprintf writes a text with a trusted format. Arguments of type string are untrusted: each stays on its line.
func Fprintf(w io.Writer, format string, args ...any) {
	for i, arg := range args {
		switch arg := arg.(type) {
		case string:
			args[i] = Line(arg)
		case fmt.Stringer:
			args[i] = Line(arg.String())
		case error:
			args[i] = Line(arg.Error())
		default:
			if v := reflect.ValueOf(arg); v.Kind() == reflect.String {
				args[i] = Line(v.String())
			}
		}
	}
	fmt.Fprintf(w, format, args...)
}
