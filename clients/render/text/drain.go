package text

import (
	"fmt"
	"io"

	"github.com/stowage-scheduler/stowage/clients/answer/drain"
	"github.com/stowage-scheduler/stowage/clients/answer/words"
	stowagev1 "github.com/stowage-scheduler/stowage/proto/stowage/v1"
)

// Drain writes the outcome of each drain, the pods without a node, the pods that cannot be evicted, the preempted pods, and the moves.
// Verbose lists every node, also of many.
func Drain(w io.Writer, a *drain.Answer, s Style) {
	if a.LargestSet || len(a.Drains) > 1 {
		fmt.Fprintln(w, s.Ink.Verdict(a.Complete(), filled(a.Verdict, s.Width)))
		if len(a.Drains) > 0 {
			fmt.Fprintln(w)
		}
	}
	s.drains(w, a.Drains)
	for _, l := range a.Lists() {
		list(w, l.Title+":", l.Lines, s.Width)
	}
	moves(w, &words.Explanation{Cluster: a.Cluster}, a.Drains, s.Width)
	if a.Truncated() {
		fmt.Fprintln(w, "\nThe answer does not list all pods.")
	}
	Doubts(w, &a.Doubts, s.Width)
}

// maximumDrains is the number of drains up to which each has a row.
const maximumDrains = 20

// drains writes the drains. Of many, drains with one result are a row.
func (s *Style) drains(w io.Writer, all []*stowagev1.NodeDrain) {
	switch {
	case len(all) == 0:
	case s.Verbose || len(all) <= maximumDrains:
		rows := [][]string{{"NODE", "RESULT", "EVICTED", "PLACED", "STAYING"}}
		for _, d := range all {
			rows = append(rows, append([]string{words.Names(d.GetNodes().GetNames()), words.Result(d)}, counts(d)...))
		}
		tableWithin(w, s.Width, rows...)
	default:
		tableWithin(w, s.Width, byResult(all)...)
	}
}

// byResult are rows of drains, one for each result.
func byResult(all []*stowagev1.NodeDrain) [][]string {
	rows := [][]string{{"NODES", "RESULT", "EVICTED", "PLACED", "STAYING", "WHICH"}}
	var order []string
	of := map[string][]*stowagev1.NodeDrain{}
	for _, d := range all {
		r := words.Result(d)
		if of[r] == nil {
			order = append(order, r)
		}
		of[r] = append(of[r], d)
	}
	for _, r := range order {
		var nodes []string
		for _, d := range of[r] {
			nodes = append(nodes, d.GetNodes().GetNames()...)
		}
		row := append([]string{fmt.Sprint(len(nodes)), r}, counts(of[r]...)...)
		rows = append(rows, append(row, words.Names(nodes)))
	}
	return rows
}

// counts are the pods of drains: evicted, placed and staying.
func counts(all ...*stowagev1.NodeDrain) []string {
	var evicted, placed, staying uint64
	for _, d := range all {
		evicted += uint64(d.GetEvictedCount())
		placed += uint64(d.GetPlacedCount())
		staying += uint64(d.GetStayingCount())
	}
	return []string{fmt.Sprint(evicted), fmt.Sprint(placed), fmt.Sprint(staying)}
}
