package text

import (
	"fmt"
	"io"
	"strings"

	"github.com/stowage-scheduler/stowage/clients/answer/scaledown"
	"github.com/stowage-scheduler/stowage/clients/quote"
)

// ScaleDown writes the spread of the replicas before and after, the deletions in order, and the commands that make them.
func ScaleDown(w io.Writer, a *scaledown.Answer, s Style) {
	quote.Fprintf(w, "%s\n", a.Verdict)
	for _, spread := range a.Spreads() {
		rows := [][]string{{strings.ToUpper(spread.GetTopologyKey()), "BEFORE", "AFTER"}}
		for _, d := range spread.GetDomains() {
			rows = append(rows, []string{d.GetValue(), fmt.Sprint(d.GetBefore()), fmt.Sprint(d.GetAfter())})
		}
		fmt.Fprintln(w)
		table(w, rows...)
	}
	if rows := a.Deletions(); len(rows) > 0 {
		fmt.Fprintln(w)
		table(w, append([][]string{{"DELETE", "NODE", "COST", "WHY"}}, rows...)...)
	}
	if len(a.Commands) > 0 {
		fmt.Fprintln(w)
	}
	for _, command := range a.Commands {
		fmt.Fprintln(w, command)
	}
	if a.Uncontrollable != "" {
		fmt.Fprintln(w)
		WriteWrapped(w, "", a.Uncontrollable, s.Width)
	}
	Doubts(w, &a.Doubts, s.Width)
}
