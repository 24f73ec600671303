package text

import (
	"fmt"
	"io"

	"github.com/stowage-scheduler/stowage/clients/answer/words"
	stowagev1 "github.com/stowage-scheduler/stowage/proto/stowage/v1"
)

// Consolidate renders the response to a ConsolidateRequest with names.
type Consolidate struct {
	Cluster *stowagev1.Cluster
	Moves   bool // whether to write them
	Width   int
}

// Write writes the actions and what is known of the cost, why the other candidates are left, and the moves.
func (c *Consolidate) Write(w io.Writer, a *stowagev1.ConsolidateResponse) {
	d := &Drain{Cluster: c.Cluster, Width: c.Width}
	if len(a.GetActions()) == 0 {
		WriteWrapped(w, "", fmt.Sprintf("No nodes to remove, for %d: %s", a.GetCostBefore(), c.proof(a)), c.Width)
	} else {
		WriteWrapped(w, "", fmt.Sprintf("%s, for %d in place of %d: %s", words.Plural(uint64(len(a.GetActions())), "action"),
			a.GetCostAfter(), a.GetCostBefore(), c.proof(a)), c.Width)
		fmt.Fprintln(w)
	}
	rows := [][]string{{"REMOVE", "ADD", "EVICTED", "ROUNDS", "COST"}}
	var drains []*stowagev1.NodeDrain
	truncated := false
	for _, action := range a.GetActions() {
		drained := action.GetDrain()
		truncated = truncated || drained.GetTruncated()
		rows = append(rows, []string{
			words.Names(drained.GetNodes().GetNames()), action.GetNewNodeName(), fmt.Sprint(drained.GetEvictedCount()),
			fmt.Sprint(drained.GetRoundCount()), fmt.Sprint(action.GetCostAfter()),
		})
		drains = append(drains, drained)
	}
	if len(rows) > 1 {
		table(w, rows...)
	}
	var reasons, kept []string
	nodes := map[string][]string{} // by reason
	for _, k := range a.GetKept() {
		truncated = truncated || k.GetDrain().GetTruncated()
		why := words.WhyKept(k)
		if nodes[why] == nil {
			reasons = append(reasons, why)
		}
		nodes[why] = append(nodes[why], k.GetDrain().GetNodes().GetNames()...)
	}
	for _, why := range reasons {
		kept = append(kept, words.Names(nodes[why])+": "+why)
	}
	d.list(w, "Left:", kept)
	if c.Moves {
		d.writeMoves(w, drains)
	}
	if truncated {
		fmt.Fprintln(w, "\nThe answer does not list all pods.")
	}
}

// proof says what is known of the cost.
func (c *Consolidate) proof(a *stowagev1.ConsolidateResponse) string {
	switch {
	case a.GetOptimal():
		return "nothing cheaper is possible"
	case a.GetLowerBound() > 0:
		return fmt.Sprintf("nothing below %d is possible", a.GetLowerBound())
	}
	return "something cheaper may be possible"
}
