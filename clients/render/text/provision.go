package text

import (
	"fmt"
	"io"

	"github.com/stowage-scheduler/stowage/clients/answer/provision"
)

// Provision writes the nodes to add and their cost, then where the pods go, and why some have no node.
func Provision(w io.Writer, a *provision.Answer, s Style) {
	WriteWrapped(w, "", a.Verdict, s.Width)
	if rows := a.Templates(); len(rows) > 0 {
		table(w, append([][]string{{"TEMPLATE", "COUNT", "PRICE"}}, rows...)...)
	}
	for _, text := range a.Uncounted() {
		fmt.Fprintln(w)
		WriteWrapped(w, "", text, s.Width)
	}
	fmt.Fprintln(w)
	TellPlace(w, a.Place, Style{Width: s.Width})
	for _, u := range a.Unplaced() {
		fmt.Fprintln(w)
		WriteWrapped(w, "", u.Text(), s.Width)
		for _, line := range u.Templates {
			WriteWrapped(w, "  ", "- "+line, s.Width)
		}
	}
	Doubts(w, &a.Doubts, s.Width)
}
