package quote

import (
	"io"
	"regexp"
	"strings"
)

// Terminal returns a writer for a terminal. It escapes characters that would move the cursor or change other text: the characters of Line, except
// line ends and tabs, and with ink except the colours of report.Ink. Each write must have whole characters.
func Terminal(w io.Writer, ink bool) io.Writer {
	if ink {
		return writer{w, func(text []byte) []byte { return []byte(coloured(string(text))) }}
	}
	return writer{w, func(text []byte) []byte { return []byte(Block(string(text))) }}
}

// Block is Line for a text whose line ends and tabs stay.
func Block(text string) string {
	return escape(text, func(r rune) bool { return r != '\n' && r != '\t' && invisible(r) })
}

// colours are the sequences of report.Ink.
var colours = regexp.MustCompile("\x1b\\[(0|1|3[123]|1;3[12])m")

// coloured is Block for a text whose colours stay.
func coloured(text string) string {
	var out strings.Builder
	end := 0
	for _, at := range colours.FindAllStringIndex(text, -1) {
		out.WriteString(Block(text[end:at[0]]) + text[at[0]:at[1]])
		end = at[1]
	}
	return out.String() + Block(text[end:])
}
