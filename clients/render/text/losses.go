package text

import (
	"fmt"
	"io"
	"strings"

	"github.com/stowage-scheduler/stowage/clients/answer/words"
	"github.com/stowage-scheduler/stowage/clients/quote"
	"github.com/stowage-scheduler/stowage/clients/whatif"
)

// maximumUnharmed is how many workloads and budgets are listed although nothing of them is missing.
const maximumUnharmed = 10

// losses writes the workloads, why replicas are missing, the budgets, and the moves if they are asked for.
func (f *Fail) losses(w io.Writer, a *whatif.Failure) {
	f.workloads(w, a.Workloads)
	f.missing(w, a.Workloads)
	f.budgets(w, a.Budgets)
	if f.Moves && len(a.Pods) > 0 {
		fmt.Fprintln(w)
		writeMoves(w, a.Pods)
	}
}

// briefly reports whether a list leaves out entries that lose nothing: a long one, or that of one of several failures.
func (f *Fail) briefly(entries int) bool {
	return !f.Verbose && (f.Key != "" || entries > maximumUnharmed)
}

// workloads writes a row for each workload, or for each that has missing replicas.
func (f *Fail) workloads(w io.Writer, all []whatif.Workload) {
	rows := [][]string{{"WORKLOAD", "KIND", "REPLICAS", "LOST", "PLACED", "MISSING"}}
	whole, pods := 0, 0
	for _, l := range all {
		if l.Missing == 0 && f.briefly(len(all)) {
			whole, pods = whole+1, pods+l.Placed
			continue
		}
		rows = append(rows, []string{
			l.Namespace + "/" + l.Name, l.Kind, fmt.Sprint(l.Replicas), fmt.Sprint(l.Lost), fmt.Sprint(l.Placed), fmt.Sprint(l.Missing),
		})
	}
	if len(rows) > 1 {
		table(w, rows...)
	}
	if whole > 0 {
		quote.Fprintf(w, "no replica missing of %s (%s placed); -v lists them\n", words.Plural(whole, other(rows)+"workload"), words.Plural(pods, "pod"))
	}
}

// missing writes why replicas are missing. Reasons that several workloads share are written once.
func (f *Fail) missing(w io.Writer, all []whatif.Workload) {
	var order []string
	of := map[string][]whatif.Workload{}
	for _, l := range all {
		if l.Missing == 0 {
			continue
		}
		key := strings.Join(l.Reasons, "\n")
		if of[key] == nil {
			order = append(order, key)
		}
		of[key] = append(of[key], l)
	}
	for _, key := range order {
		fmt.Fprintln(w)
		WriteWrapped(w, "", lost(of[key]), f.Width)
		for _, reason := range of[key][0].Reasons {
			WriteWrapped(w, "  ", reason, f.Width)
		}
	}
}

// lost says how many replicas of workloads are missing.
func lost(of []whatif.Workload) string {
	if len(of) == 1 {
		l := of[0]
		return fmt.Sprintf("%s/%s: %d of %s missing", l.Namespace, l.Name, l.Missing, words.Plural(l.Replicas, "replica"))
	}
	var names []string
	missing, replicas := 0, 0
	for _, l := range of {
		names = append(names, l.Namespace+"/"+l.Name)
		missing, replicas = missing+l.Missing, replicas+l.Replicas
	}
	return fmt.Sprintf("%d workloads: %d of %s missing: %s", len(of), missing, words.Plural(replicas, "replica"), words.Names(names))
}

// budgets writes which PodDisruptionBudgets are met, or only those that are not.
func (f *Fail) budgets(w io.Writer, all []whatif.Budget) {
	rows := [][]string{{"PODDISRUPTIONBUDGET", "DESIRED", "HEALTHY", "AT ONCE", "AFTER", "RESULT"}}
	met := 0
	for _, b := range all {
		if f.briefly(len(all)) && b.Desired != nil && !b.BelowAfter && !b.BelowAtOnce {
			met++
			continue
		}
		rows = append(rows, budgetRow(&b))
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

func budgetRow(b *whatif.Budget) []string {
	desired, result := "not stated", "met"
	switch {
	case b.Desired == nil:
		result = "not known"
	case b.BelowAfter:
		result = "not met"
	case b.BelowAtOnce:
		result = "not met until pods are ready again"
	}
	if b.Desired != nil {
		desired = fmt.Sprint(*b.Desired)
	}
	return []string{
		b.Namespace + "/" + b.Name, desired, fmt.Sprint(b.Healthy), fmt.Sprint(b.AtOnce), fmt.Sprint(b.After), result,
	}
}

// other is the word for what a table does not list; empty if there is no table.
func other(rows [][]string) string {
	if len(rows) > 1 {
		return "other "
	}
	return ""
}
