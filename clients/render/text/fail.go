package text

import (
	"fmt"
	"io"
	"slices"

	"github.com/stowage-scheduler/stowage/clients/answer/fail"
	"github.com/stowage-scheduler/stowage/clients/answer/words"
	"github.com/stowage-scheduler/stowage/clients/quote"
	"github.com/stowage-scheduler/stowage/clients/whatif"
)

// failures lays out the answer about failures.
type failures struct {
	*fail.Answer
	Style
}

// Fail writes the outcome of a failure or, for several, a table; then what each of them loses. Verbose lists all workloads, budgets and
// domains, Moves the replacement pods.
func Fail(w io.Writer, a *fail.Answer, s Style) {
	f := &failures{a, s}
	if f.Each == "" {
		for _, one := range a.Failures {
			f.head(w, one)
			f.losses(w, one)
		}
	} else {
		f.each(w)
	}
	Doubts(w, &a.Doubts, s.Width)
}

// each writes the failures of the domains of a topology key.
func (f *failures) each(w io.Writer) {
	fmt.Fprintln(w, quote.Line(f.Verdict))
	f.domains(w)
	written := 0
	for i, one := range f.Failures {
		if fail.Harmless(one) && !f.Moves {
			continue
		}
		if written++; written > maximumFailures && !f.Verbose {
			quote.Fprintf(w, "\n%s not described here; -v describes them\n", words.Plural(len(f.Failures)-i, "domain"))
			return
		}
		quote.Fprintf(w, "\n%s=%s:\n", f.Each, one.Name)
		f.staying(w, one)
		f.losses(w, one)
	}
}

// maximumFailures is how many domains have a row each. Of more, domains with equal outcomes are one row.
const maximumFailures = 20

// domains writes a row for each failure.
func (f *failures) domains(w io.Writer) {
	all := f.Failures
	numbers := []string{"RESULT", "NODES", "COME BACK", "PLACED", "LOST", "BUDGETS BELOW"}
	var outcomes [][]string
	names, index := [][]string{}, map[string]int{}
	for _, one := range all {
		row := []string{
			fail.Outcome(one), fmt.Sprint(len(one.Nodes)), fmt.Sprint(one.Returning), fmt.Sprint(one.Placed), fmt.Sprint(len(one.Bare)),
			fmt.Sprint(fail.BudgetsBelow(one)),
		}
		key := fmt.Sprint(row)
		if i, seen := index[key]; seen && len(all) > maximumFailures {
			names[i] = append(names[i], one.Name)
			continue
		}
		index[key] = len(outcomes)
		outcomes, names = append(outcomes, row), append(names, []string{one.Name})
	}
	rows := [][]string{slices.Concat([]string{f.Each}, numbers)}
	if len(all) > maximumFailures {
		rows[0] = slices.Concat([]string{"DOMAINS"}, numbers, []string{"WHICH"})
	}
	for i, row := range outcomes {
		if len(all) > maximumFailures {
			rows = append(rows, slices.Concat([]string{fmt.Sprint(len(names[i]))}, row, []string{words.Names(names[i])}))
		} else {
			rows = append(rows, slices.Concat(names[i], row))
		}
	}
	tableWithin(w, f.Width, rows...)
}

// head writes the outcome of one failure.
func (f *failures) head(w io.Writer, one *whatif.Failure) {
	for _, text := range fail.Failing(one) {
		WriteWrapped(w, "", text, f.Width)
	}
	f.staying(w, one)
	for _, text := range fail.Others(one) {
		WriteWrapped(w, "", text, f.Width)
	}
	if len(one.Workloads)+len(one.Budgets) > 0 || f.Moves && len(one.Pods) > 0 {
		fmt.Fprintln(w)
	}
}

// staying writes what differs as long as the API server still has the nodes.
func (f *failures) staying(w io.Writer, one *whatif.Failure) {
	text, reasons := fail.Staying(one)
	if text == "" {
		return
	}
	WriteWrapped(w, "", text, f.Width)
	for _, reason := range reasons {
		WriteWrapped(w, "  ", reason, f.Width)
	}
}
