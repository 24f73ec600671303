package cli

import (
	"os"

	"golang.org/x/term"

	"github.com/stowage-scheduler/stowage/clients/quote"
	"github.com/stowage-scheduler/stowage/clients/render/text"
)

// minimumWidth is the width of a terminal below which lines are broken by the terminal.
const minimumWidth = 40

// dress chooses the width and the colours of the output.
func (q *question) dress(s *session) {
	s.width = text.Width
	if s.terminal != nil {
		if columns, _, err := term.GetSize(int(s.terminal.Fd())); err == nil && columns > 0 {
			s.width = max(minimumWidth, columns)
		}
	}
	s.ink = text.Ink(q.Color == "always" || q.Color == "auto" && s.terminal != nil && os.Getenv("NO_COLOR") == "")
	if q.Output == table {
		s.stdout = quote.Terminal(s.raw, bool(s.ink))
	}
}
