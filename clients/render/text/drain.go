package text

import (
	"fmt"
	"io"
	"slices"

	"github.com/stowage-scheduler/stowage/clients/answer/words"
	stowagev1 "github.com/stowage-scheduler/stowage/proto/stowage/v1"
)

// Drain renders what draining nodes leads to.
type Drain struct {
	Cluster    *stowagev1.Cluster
	Moves      bool // whether the answer has them
	LargestSet bool // whether that was asked for
	// Verbose lists every node, also if there are many.
	Verbose bool
	Width   int
	Ink     Ink
	// Caveat completes a yes that is not sure.
	Caveat string
}

// List is lines of one kind.
type List struct {
	Title string
	Lines []string
}

// Write writes the outcome of each drain, the pods without a node, those that cannot be evicted, those that are preempted, and
// the moves. Pods of one controller with one answer are one line.
func (d *Drain) Write(w io.Writer, parts []*stowagev1.DrainResponse) {
	drains := drainsOf(parts)
	if d.LargestSet || len(drains) > 1 {
		good := Drained(drains) == len(drains)
		fmt.Fprintln(w, d.Ink.Verdict(good, filled(d.Verdict(parts), d.Width)))
		if len(drains) > 0 {
			fmt.Fprintln(w)
		}
	}
	d.drains(w, drains)
	for _, l := range d.Lists(parts) {
		list(w, l.Title+":", l.Lines, d.Width)
	}
	if d.Moves {
		moves(w, &words.Explanation{Cluster: d.Cluster}, drains, d.Width)
	}
	if slices.ContainsFunc(drains, (*stowagev1.NodeDrain).GetTruncated) {
		fmt.Fprintln(w, "\nThe answer does not list all pods.")
	}
}

func drainsOf(parts []*stowagev1.DrainResponse) []*stowagev1.NodeDrain {
	var out []*stowagev1.NodeDrain
	for _, p := range parts {
		if a := p.GetDrain(); a != nil {
			out = append(out, a)
		}
	}
	return out
}

// Lists are the pods without a node, those that cannot be evicted, and those that are preempted, with what is said of them.
func (d *Drain) Lists(parts []*stowagev1.DrainResponse) []List {
	x := &words.Explanation{Cluster: d.Cluster}
	var unplaced, blocked, preempted []words.Together
	for _, a := range drainsOf(parts) {
		for _, u := range a.GetUnplaced() {
			unplaced = append(unplaced, words.One(u.GetPod(), ": "+words.WhyUnplaced(u)))
		}
		for _, b := range a.GetBlocked() {
			blocked = append(blocked, words.One(b.GetPod(), ": "+words.WhyBlocked(b)))
		}
		for _, p := range a.GetPreempted() {
			preempted = append(preempted, words.One(p, ", by draining "+words.Names(a.GetNodes().GetNames())))
		}
	}
	return []List{
		{"Without a node", x.Lines(unplaced)}, {"Not evicted", x.Lines(blocked)}, {"Preempted", x.Lines(preempted)},
	}
}

// MoveRows are the pods that move, with their node, their new ones, and the round.
func (d *Drain) MoveRows(parts []*stowagev1.DrainResponse) [][]string {
	return (&words.Explanation{Cluster: d.Cluster}).MoveRows(drainsOf(parts))
}

// Verdict says how many nodes can be drained, and what makes that unsure.
func (d *Drain) Verdict(parts []*stowagev1.DrainResponse) string {
	text := d.outcome(parts)
	if Drained(drainsOf(parts)) > 0 {
		text += d.Caveat
	}
	return text
}

// outcome says how many nodes can be drained.
func (d *Drain) outcome(parts []*stowagev1.DrainResponse) string {
	drains := drainsOf(parts)
	if d.LargestSet {
		for _, p := range parts {
			if sum := p.GetSummary(); sum != nil {
				return ofSet(sum)
			}
		}
	}
	if len(drains) != 1 {
		return fmt.Sprintf("%d of %s can be drained, each alone", Drained(drains), words.Plural(uint64(len(drains)), "node"))
	}
	which := words.Names(drains[0].GetNodes().GetNames())
	switch {
	case Drained(drains) == 0:
		return which + " cannot be drained"
	case len(drains[0].GetNodes().GetNames()) > 1:
		return which + " can be drained together"
	}
	return which + " can be drained"
}

// Drained is the number of drains that succeed.
func Drained(drains []*stowagev1.NodeDrain) int {
	n := 0
	for _, a := range drains {
		if a.GetStatus() == stowagev1.DrainStatus_DRAIN_STATUS_DRAINED {
			n++
		}
	}
	return n
}

// maximumDrains is the number of drains up to which each has a row.
const maximumDrains = 20

// drains writes the drains, those with one result together if there are many.
func (d *Drain) drains(w io.Writer, all []*stowagev1.NodeDrain) {
	if len(all) == 0 {
		return
	}
	rows := [][]string{{"NODE", "RESULT", "EVICTED", "PLACED", "STAYING"}}
	counts := func(all ...*stowagev1.NodeDrain) []string {
		var evicted, placed, staying uint64
		for _, a := range all {
			evicted += uint64(a.GetEvictedCount())
			placed += uint64(a.GetPlacedCount())
			staying += uint64(a.GetStayingCount())
		}
		return []string{fmt.Sprint(evicted), fmt.Sprint(placed), fmt.Sprint(staying)}
	}
	if d.Verbose || len(all) <= maximumDrains {
		for _, a := range all {
			rows = append(rows, append([]string{words.Names(a.GetNodes().GetNames()), words.Result(a)}, counts(a)...))
		}
		tableWithin(w, d.Width, rows...)
		return
	}
	rows = [][]string{{"NODES", "RESULT", "EVICTED", "PLACED", "STAYING", "WHICH"}}
	var order []string
	byResult := map[string][]*stowagev1.NodeDrain{}
	for _, a := range all {
		r := words.Result(a)
		if byResult[r] == nil {
			order = append(order, r)
		}
		byResult[r] = append(byResult[r], a)
	}
	for _, r := range order {
		var nodes []string
		for _, a := range byResult[r] {
			nodes = append(nodes, a.GetNodes().GetNames()...)
		}
		row := append([]string{fmt.Sprint(len(nodes)), r}, counts(byResult[r]...)...)
		rows = append(rows, append(row, words.Names(nodes)))
	}
	tableWithin(w, d.Width, rows...)
}

// ofSet says how many nodes can be drained one after another.
func ofSet(sum *stowagev1.DrainSummary) string {
	bound := fmt.Sprintf("at most %d can", sum.GetUpperBound())
	if sum.GetProven() {
		bound = "no order drains more"
	}
	return fmt.Sprintf("%d of %s can be drained one after another; %s", sum.GetDrainedCount(),
		words.Plural(uint64(sum.GetTotalCount()), "node"), bound)
}
