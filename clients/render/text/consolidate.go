package text

import (
	"fmt"
	"io"

	"github.com/stowage-scheduler/stowage/clients/answer/consolidate"
	"github.com/stowage-scheduler/stowage/clients/answer/words"
)

// Consolidate writes the actions and the cost, why the other candidates are kept, and with Moves the pods that move.
func Consolidate(w io.Writer, a *consolidate.Answer, s Style) {
	WriteWrapped(w, "", a.Verdict, s.Width)
	rows := [][]string{{"REMOVE", "ADD", "EVICTED", "ROUNDS", "COST"}}
	for _, action := range a.Response.GetActions() {
		drained := action.GetDrain()
		rows = append(rows, []string{
			words.Names(drained.GetNodes().GetNames()), action.GetNewNodeName(), fmt.Sprint(drained.GetEvictedCount()),
			fmt.Sprint(drained.GetRoundCount()), fmt.Sprint(action.GetCostAfter()),
		})
	}
	if len(rows) > 1 {
		fmt.Fprintln(w)
		table(w, rows...)
	}
	list(w, "Left:", a.Kept(), s.Width)
	if s.Moves {
		moves(w, &words.Explanation{Cluster: a.Cluster}, a.Drains(), s.Width)
	}
	if a.Truncated() {
		fmt.Fprintln(w, "\nThe answer does not list all pods.")
	}
	Doubts(w, &a.Doubts, s.Width)
}
