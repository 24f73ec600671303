package text

import (
	"fmt"
	"io"
	"strings"
	"text/tabwriter"

	"github.com/stowage-scheduler/stowage/clients/answer/words"
	"github.com/stowage-scheduler/stowage/clients/quote"
	stowagev1 "github.com/stowage-scheduler/stowage/proto/stowage/v1"
)

// reasonWidth is the width of a column of reasons; most fit.
const reasonWidth = 80

// table writes rows in columns.
func table(w io.Writer, rows ...[]string) {
	var text strings.Builder
	t := tabwriter.NewWriter(&text, 0, 0, 3, ' ', 0)
	for _, r := range rows {
		var cells []string
		for _, cell := range r {
			cells = append(cells, quote.Line(cell))
		}
		fmt.Fprintln(t, strings.Join(cells, "\t"))
	}
	_ = t.Flush() // to memory
	for line := range strings.Lines(text.String()) {
		fmt.Fprintln(w, strings.TrimRight(line, " \n")) // empty last cells leave their padding
	}
}

// verdicts are the rows of the feasible nodes and of the others, by plugin and reason.
func verdicts(a *stowagev1.FilterResponse) [][]string {
	rows := [][]string{{"NODES", "VERDICT", "PLUGIN", "WHICH"}}
	if feasible := a.GetFeasibleNodes().GetNames(); len(feasible) > 0 {
		rows = append(rows, []string{fmt.Sprint(len(feasible)), "feasible", "", words.Names(feasible)})
	}
	for _, r := range a.GetRejections() {
		rows = append(rows, rejection(r)...)
	}
	return rows
}

// rejection returns the rows of a rejection: long reasons, such as parse errors, take several.
func rejection(r *stowagev1.Rejection) [][]string {
	var reasons []string
	for _, reason := range r.GetReasons() {
		reasons = append(reasons, reason.GetMessage())
	}
	nodes := r.GetNodes().GetNames()
	var text strings.Builder
	WriteWrapped(&text, "", strings.Join(reasons, ", "), reasonWidth)
	first, more, _ := strings.Cut(strings.TrimSuffix(text.String(), "\n"), "\n")
	rows := [][]string{{fmt.Sprint(len(nodes)), first, words.Plugin(r.GetPlugin()), words.Names(nodes)}}
	for line := range strings.Lines(more) {
		rows = append(rows, []string{"", strings.TrimSuffix(line, "\n"), "", ""})
	}
	return rows
}
