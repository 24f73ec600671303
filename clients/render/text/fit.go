package text

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/stowage-scheduler/stowage/clients/answer/fit"
	"github.com/stowage-scheduler/stowage/clients/quote"
)

// Fit writes how many units fit, how many by domain, why the next pod has no node, and the changes with which more fit.
func Fit(w io.Writer, a *fit.Answer, s Style) {
	s.fit(w, a)
	Doubts(w, &a.Doubts, s.Width)
}

func (s *Style) fit(w io.Writer, a *fit.Answer) {
	WriteWrapped(w, "", a.Verdict, s.Width)
	if key := a.Options.TopologyKey; key != "" {
		fmt.Fprintln(w)
		if rows := a.Domains(); len(rows) > 0 {
			heading := slices.Concat([]string{strings.ToUpper(key)}, a.Parts("PODS"), []string{"ALONE"})
			table(w, append([][]string{heading}, rows...)...)
		} else {
			quote.Fprintf(w, "No node has the label %s\n", key)
		}
	}
	next := a.Next()
	if next == "" {
		return
	}
	fmt.Fprintln(w)
	WriteWrapped(w, "", next, s.Width)
	s.explanation(a.Words()).WriteWhy(w, "", a.Response.GetExplanation())
	if len(a.Response.GetRejections()) > 0 {
		rows := [][]string{{"NODES", "VERDICT", "PLUGIN", "WHICH"}}
		for _, r := range a.Response.GetRejections() {
			rows = append(rows, rejection(r)...)
		}
		fmt.Fprintln(w)
		table(w, rows...)
	}
	if !a.Options.Changes {
		return
	}
	fmt.Fprintln(w)
	changes := a.Changes()
	if len(changes) == 0 {
		fmt.Fprintln(w, "No single change was found with which more fit.")
		return
	}
	fmt.Fprintln(w, "With any one of these more fit:")
	for _, c := range changes {
		WriteWrapped(w, "  ", "- "+c, s.Width)
	}
}
