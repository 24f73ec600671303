package text

import (
	"io"

	"github.com/stowage-scheduler/stowage/clients/answer/words"
	"github.com/stowage-scheduler/stowage/clients/quote"
)

// Doubts writes doubts, a paragraph for each kind.
func Doubts(w io.Writer, all *words.Doubts, width int) {
	for _, kind := range all.Kinds() {
		quote.Fprintf(w, "\n%s\n", kind.Title)
		for _, line := range kind.Lines {
			WriteWrapped(w, "  ", line, width)
		}
	}
}
