package text

import (
	"io"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/stowage-scheduler/stowage/clients/quote"
)

// minimumLast is the width below which a last column is not wrapped, as its lines would be too short to read.
const minimumLast = 24

// tableWithin writes rows in columns, and wraps the texts of the last column so that lines are at most width runes.
func tableWithin(w io.Writer, width int, rows ...[]string) {
	columns := 0
	for _, r := range rows {
		columns = max(columns, len(r))
	}
	if columns == 0 {
		return
	}
	const gap = 3 // between columns, as table writes them
	before := 0
	for column := range columns - 1 {
		widest := 0
		for _, r := range rows {
			if column < len(r) {
				widest = max(widest, utf8.RuneCountInString(r[column]))
			}
		}
		before += widest + gap
	}
	room := width - before
	if room < minimumLast {
		table(w, rows...)
		return
	}
	var out [][]string
	for _, r := range rows {
		if len(r) < columns || utf8.RuneCountInString(r[columns-1]) <= room {
			out = append(out, r)
			continue
		}
		for i, line := range wrapped(r[columns-1], room) {
			row := make([]string, columns)
			if i == 0 {
				row = slices.Clone(r)
			}
			row[columns-1] = line
			out = append(out, row)
		}
	}
	table(w, out...)
}

// wrapped breaks a text into lines of at most width runes where words allow.
func wrapped(text string, width int) []string {
	var out []string
	line := ""
	for word := range strings.FieldsSeq(quote.Line(text)) {
		switch {
		case line == "":
			line = word
		case utf8.RuneCountInString(line)+1+utf8.RuneCountInString(word) <= width:
			line += " " + word
		default:
			out, line = append(out, line), word
		}
	}
	return append(out, line)
}
