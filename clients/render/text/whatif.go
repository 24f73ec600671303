package text

import (
	"fmt"
	"io"

	"github.com/stowage-scheduler/stowage/clients/answer/whatif"
	"github.com/stowage-scheduler/stowage/clients/quote"
)

// WhatIf writes the changes, how many pods are placed before and after, the pods by effect, and the rollouts.
func WhatIf(w io.Writer, a *whatif.Answer, s Style) {
	for _, change := range a.Changes {
		WriteWrapped(w, "", change, s.Width)
	}
	fmt.Fprintln(w)
	for _, text := range a.Tally() {
		fmt.Fprintln(w, quote.Line(text))
	}
	for _, l := range a.Lists() {
		list(w, l.Title+":", l.Lines, s.Width)
	}
	if len(a.ScaleDowns) > 0 {
		fmt.Fprintln(w)
		WriteWrapped(w, "", whatif.ScaleDownAdvice, s.Width)
		for _, command := range a.ScaleDowns {
			fmt.Fprintln(w, "  "+command)
		}
	}
	Rollouts(w, a.Rollouts, s.Width)
	Doubts(w, &a.Doubts, s.Width)
}
