package text

import (
	"fmt"
	"io"

	"github.com/stowage-scheduler/stowage/clients/answer/audit"
	"github.com/stowage-scheduler/stowage/clients/quote"
)

// Audit writes how many findings there are, by rule, and then each of them.
func Audit(w io.Writer, a *audit.Answer, s Style) {
	quote.Fprintf(w, "%s\n", a.Verdict)
	if text := a.Unjudged(); text != "" {
		quote.Fprintf(w, "%s\n", text)
	}
	rules := a.ByRule()
	if len(rules) > 0 {
		rows := [][]string{{"SEVERITY", "FINDING", "COUNT", "OBJECTS"}}
		for i := range rules {
			rows = append(rows, rules[i].Cells())
		}
		fmt.Fprintln(w)
		table(w, rows...)
	}
	for i := range rules {
		quote.Fprintf(w, "\n%s, %s:\n", rules[i].Severity, rules[i].Rule)
		lines, more := rules[i].Lines()
		for _, line := range lines {
			WriteWrapped(w, "  ", "- "+line, s.Width)
		}
		if more > 0 {
			quote.Fprintf(w, "  and %d more\n", more)
		}
	}
	Doubts(w, &a.Doubts, s.Width)
}
