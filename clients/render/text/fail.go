package text

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/stowage-scheduler/stowage/clients/answer/words"
	"github.com/stowage-scheduler/stowage/clients/quote"
	"github.com/stowage-scheduler/stowage/clients/whatif"
)

// Fail renders what failures of nodes lead to.
type Fail struct {
	// Key is the topology key whose domains fail, each alone; empty for one failure.
	Key   string
	Moves bool // whether to list the pods that come back
	// Verbose lists all workloads, budgets and domains.
	Verbose bool
	Width   int
}

// Verdict is the answer in a sentence.
func (f *Fail) Verdict(all []*whatif.Failure) string {
	if f.Key != "" {
		survived := 0
		for _, a := range all {
			if a.Survives {
				survived++
			}
		}
		return fmt.Sprintf("%d of %s of %s can fail without a loss", survived, words.Plural(uint64(len(all)), "domain"), f.Key)
	}
	var out []string
	for _, a := range all {
		out = append(out, fmt.Sprintf("if %s fails: %s", a.Name, Outcome(a)))
	}
	return strings.Join(out, "; ")
}

// Write writes the answer in one line or, for several failures, in a table; then what each of them loses.
func (f *Fail) Write(w io.Writer, all []*whatif.Failure) {
	if f.Key == "" {
		for _, a := range all {
			f.head(w, a)
			f.losses(w, a)
		}
		return
	}
	fmt.Fprintln(w, quote.Line(f.Verdict(all)))
	f.domains(w, all)
	written := 0
	for i, a := range all {
		if a.Survives && below(a) == 0 && !f.Moves {
			continue
		}
		if written++; written > maximumFailures && !f.Verbose {
			quote.Fprintf(w, "\n%s not described here; -v describes them\n", words.Plural(uint64(len(all)-i), "domain"))
			return
		}
		quote.Fprintf(w, "\n%s=%s:\n", f.Key, a.Name)
		f.staying(w, a)
		f.losses(w, a)
	}
}

// maximumFailures is how many domains have a row each. Of more, those with equal outcomes are one.
const maximumFailures = 20

// domains writes a row for each failure.
func (f *Fail) domains(w io.Writer, all []*whatif.Failure) {
	numbers := []string{"RESULT", "NODES", "COME BACK", "PLACED", "LOST", "BUDGETS BELOW"}
	var outcomes [][]string
	names, index := [][]string{}, map[string]int{}
	for _, a := range all {
		row := []string{
			Outcome(a), fmt.Sprint(len(a.Nodes)), fmt.Sprint(a.Returning), fmt.Sprint(a.Placed), fmt.Sprint(len(a.Bare)), fmt.Sprint(below(a)),
		}
		key := fmt.Sprint(row)
		if i, seen := index[key]; seen && len(all) > maximumFailures {
			names[i] = append(names[i], a.Name)
			continue
		}
		index[key] = len(outcomes)
		outcomes, names = append(outcomes, row), append(names, []string{a.Name})
	}
	rows := [][]string{slices.Concat([]string{f.Key}, numbers)}
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

// Outcome is the outcome of a failure in a few words.
func Outcome(a *whatif.Failure) string {
	var out []string
	if a.Unplaced > 0 {
		out = append(out, words.Plural(uint64(a.Unplaced), "pod")+" without a node")
	} else if s := a.WhileNodesStay; s != nil {
		out = append(out, words.Plural(uint64(s.Unplaced), "pod")+" without a node while the nodes stay")
	}
	if n := len(a.Bare); n > 0 {
		out = append(out, words.Plural(uint64(n), "pod")+" without a controller")
	}
	lost := 0
	for _, p := range a.Preempted {
		if p.Node == "" {
			lost++
		}
	}
	if lost > 0 {
		out = append(out, words.Plural(uint64(lost), "pod")+" preempted")
	}
	if len(out) == 0 {
		return "all come back"
	}
	return strings.Join(out, ", ")
}

// below counts the budgets that are not met once all pods that found a node are ready.
func below(a *whatif.Failure) int {
	n := 0
	for _, b := range a.Budgets {
		if b.BelowAfter {
			n++
		}
	}
	return n
}

// head writes the answer for one failure.
func (f *Fail) head(w io.Writer, a *whatif.Failure) {
	fails := map[bool]string{true: "fail", false: "fails"}[strings.Contains(a.Name, ", ")]
	WriteWrapped(w, "", fmt.Sprintf("%s %s: %s", a.Name, fails, words.Plural(uint64(len(a.Nodes)), "node")), f.Width)
	text := words.Plural(uint64(a.Returning), "pod") + " come back"
	if a.Returning == 1 {
		text = "1 pod comes back"
	}
	quote.Fprintf(w, "%s: %d placed, %d without a node\n", text, a.Placed, a.Unplaced)
	f.staying(w, a)
	if len(a.Bare) > 0 {
		WriteWrapped(w, "", fmt.Sprintf("%s lost, as no controller creates them again: %s", words.Plural(uint64(len(a.Bare)), "pod"),
			words.Names(podNames(a.Bare))), f.Width)
	}
	if len(a.Preempted) > 0 {
		WriteWrapped(w, "", fmt.Sprintf("%s preempted on other nodes: %s", words.Plural(uint64(len(a.Preempted)), "pod"),
			words.Names(preemptedNames(a.Preempted))), f.Width)
	}
	if a.Tied > 0 {
		quote.Fprintf(w, "%s of DaemonSets and of kubelets gone with the nodes\n", words.Plural(uint64(a.Tied), "pod"))
	}
	if a.Terminating > 0 {
		quote.Fprintf(w, "%s gone that were terminating\n", words.Plural(uint64(a.Terminating), "pod"))
	}
	if a.Pending > 0 {
		quote.Fprintf(w, "%d of %s that were pending before placed\n", a.PendingPlaced, words.Plural(uint64(a.Pending), "pod"))
	}
	if len(a.Workloads)+len(a.Budgets) > 0 || f.Moves && len(a.Pods) > 0 {
		fmt.Fprintln(w)
	}
}

// staying says what differs as long as the API server still has the nodes.
func (f *Fail) staying(w io.Writer, a *whatif.Failure) {
	s := a.WhileNodesStay
	if s == nil || s.Unplaced == a.Unplaced {
		return
	}
	WriteWrapped(w, "", fmt.Sprintf("%d without a node as long as the API server still has the nodes, not ready:", s.Unplaced), f.Width)
	for i, reason := range s.Reasons {
		if i == maximumReasons {
			quote.Fprintf(w, "  and %d more reasons\n", len(s.Reasons)-i)
			break
		}
		WriteWrapped(w, "  ", reason, f.Width)
	}
}

// maximumReasons bounds the reasons that are listed.
const maximumReasons = 3

// writeMoves lists pods and their new nodes.
func writeMoves(w io.Writer, pods []whatif.Pod) {
	rows := [][]string{{"POD", "FROM", "TO"}}
	for _, p := range pods {
		to := p.Node
		if to == "" {
			to = "none"
		}
		rows = append(rows, []string{p.Namespace + "/" + p.Name, p.From, to})
	}
	table(w, rows...)
}

// preemptedNames returns the names of preempted pods, with the nodes on which they come back.
func preemptedNames(pods []whatif.Pod) []string {
	out := podNames(pods)
	for i, p := range pods {
		if p.Node != "" {
			out[i] += " (comes back on " + p.Node + ")"
		}
	}
	return out
}

func podNames(pods []whatif.Pod) []string {
	var out []string
	for _, p := range pods {
		out = append(out, p.Namespace+"/"+p.Name)
	}
	return out
}
