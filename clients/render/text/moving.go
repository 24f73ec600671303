package text

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/stowage-scheduler/stowage/clients/answer/words"
	"github.com/stowage-scheduler/stowage/clients/quote"
	stowagev1 "github.com/stowage-scheduler/stowage/proto/stowage/v1"
)

// Moving renders whether a pod on a node could move.
type Moving struct {
	Namespace, Pod string
	// Node is the pod's present node.
	Node string
	// Of is the workload that was named in place of the pod, empty if none was.
	Of    string
	Width int
}

// Write writes whether another node is feasible and whether the present one still is, and the verdicts. The present node is
// marked.
func (m *Moving) Write(w io.Writer, a *stowagev1.FilterResponse) {
	heading := fmt.Sprintf("%s/%s on %s", m.Namespace, m.Pod, m.Node)
	if m.Of != "" {
		heading += ", as no pod of " + m.Of + " is pending"
	}
	quote.Fprintf(w, "%s:\n", heading)
	feasible := a.GetFeasibleNodes().GetNames()
	others := len(feasible)
	here := "it could stay"
	if slices.Contains(feasible, m.Node) {
		others--
	} else {
		here = "its present node would reject it: " + m.rejection(a)
	}
	text := "it could move to " + words.Plural(uint64(others), "other node")
	if others == 0 {
		text = "it could not move: no other node is feasible"
	}
	WriteWrapped(w, "", text+"; "+here, m.Width)
	fmt.Fprintln(w)
	rows := [][]string{{"NODES", "VERDICT", "PLUGIN", "WHICH"}}
	if len(feasible) > 0 {
		rows = append(rows, []string{fmt.Sprint(len(feasible)), "feasible", "", words.Names(m.marked(feasible))})
	}
	for _, r := range a.GetRejections() {
		all := rejection(r)
		all[0][3] = words.Names(m.marked(r.GetNodes().GetNames()))
		rows = append(rows, all...)
	}
	table(w, rows...)
}

// rejection is why the present node is rejected.
func (m *Moving) rejection(a *stowagev1.FilterResponse) string {
	for _, r := range a.GetRejections() {
		if !slices.Contains(r.GetNodes().GetNames(), m.Node) {
			continue
		}
		var out []string
		for _, reason := range r.GetReasons() {
			out = append(out, reason.GetMessage())
		}
		return strings.Join(out, ", ")
	}
	return a.GetMessage()
}

// marked returns names of nodes, the present one first and marked.
func (m *Moving) marked(names []string) []string {
	if !slices.Contains(names, m.Node) {
		return names
	}
	out := []string{m.Node + " (now)"}
	return append(out, slices.DeleteFunc(slices.Clone(names), func(n string) bool { return n == m.Node })...)
}
