package text

import (
	"fmt"
	"io"

	"github.com/stowage-scheduler/stowage/clients/answer/words"
	"github.com/stowage-scheduler/stowage/clients/quote"
	stowagev1 "github.com/stowage-scheduler/stowage/proto/stowage/v1"
)

// list writes lines below a title, nothing if there are none.
func list(w io.Writer, title string, lines []string, width int) {
	if len(lines) == 0 {
		return
	}
	fmt.Fprintln(w, "\n"+quote.Line(title))
	for _, line := range lines {
		WriteWrapped(w, "  ", "- "+line, width)
	}
}

// moves writes the pods that drains move.
func moves(w io.Writer, x *words.Explanation, drains []*stowagev1.NodeDrain, width int) {
	if rows := x.MoveRows(drains); len(rows) > 0 {
		fmt.Fprintln(w)
		tableWithin(w, width, append([][]string{{"POD", "FROM", "TO", "ROUND"}}, rows...)...)
	}
}
