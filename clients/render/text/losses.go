package text

import (
	"fmt"
	"io"

	"github.com/stowage-scheduler/stowage/clients/answer/fail"
	"github.com/stowage-scheduler/stowage/clients/answer/words"
	"github.com/stowage-scheduler/stowage/clients/quote"
	"github.com/stowage-scheduler/stowage/clients/whatif"
)

// maximumUnharmed is how many workloads and budgets are listed although nothing of them is missing.
const maximumUnharmed = 10

// losses writes the workloads, why replicas are missing, the budgets, and with Moves the replacement pods.
func (f *failures) losses(w io.Writer, one *whatif.Failure) {
	f.workloads(w, one.Workloads)
	for _, m := range fail.MissingReplicas(one.Workloads) {
		fmt.Fprintln(w)
		WriteWrapped(w, "", m.Text, f.Width)
		for _, reason := range m.Reasons {
			WriteWrapped(w, "  ", reason, f.Width)
		}
	}
	f.budgets(w, one.Budgets)
	if f.Moves && len(one.Pods) > 0 {
		fmt.Fprintln(w)
		rows := [][]string{{"POD", "FROM", "TO"}}
		for i := range one.Pods {
			rows = append(rows, fail.PodRow(&one.Pods[i]))
		}
		table(w, rows...)
	}
}

// briefly reports whether a list leaves out entries that lose nothing: of a long list, or of one of several failures.
func (f *failures) briefly(entries int) bool {
	return !f.Verbose && (f.Each != "" || entries > maximumUnharmed)
}

// workloads writes a row for each workload, or for each that has missing replicas.
func (f *failures) workloads(w io.Writer, all []whatif.Workload) {
	rows := [][]string{{"WORKLOAD", "KIND", "REPLICAS", "LOST", "PLACED", "MISSING"}}
	whole, pods := 0, 0
	for i := range all {
		l := &all[i]
		if l.Missing == 0 && f.briefly(len(all)) {
			whole, pods = whole+1, pods+l.Placed
			continue
		}
		rows = append(rows, fail.WorkloadRow(l))
	}
	if len(rows) > 1 {
		table(w, rows...)
	}
	if whole > 0 {
		quote.Fprintf(w, "no replica missing of %s (%s placed); -v lists them\n", words.Plural(whole, other(rows)+"workload"), words.Plural(pods, "pod"))
	}
}

// budgets writes which PodDisruptionBudgets are met, or only the budgets that are not.
func (f *failures) budgets(w io.Writer, all []whatif.Budget) {
	rows := [][]string{{"PODDISRUPTIONBUDGET", "DESIRED", "HEALTHY", "AT ONCE", "AFTER", "RESULT"}}
	met := 0
	for i := range all {
		b := &all[i]
		if f.briefly(len(all)) && b.Desired != nil && !b.BelowAfter && !b.BelowAtOnce {
			met++
			continue
		}
		rows = append(rows, fail.BudgetRow(b))
	}
	if len(all) > 0 {
		fmt.Fprintln(w)
	}
	if len(rows) > 1 {
		table(w, rows...)
	}
	if met > 0 {
		quote.Fprintf(w, "%s met; -v lists them\n", words.Plural(met, other(rows)+"PodDisruptionBudget"))
	}
}

// other is the word for what a table does not list; empty if there is no table.
func other(rows [][]string) string {
	if len(rows) > 1 {
		return "other "
	}
	return ""
}
