package text

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/stowage-scheduler/stowage/clients/answer/words"
	"github.com/stowage-scheduler/stowage/clients/quote"
	"github.com/stowage-scheduler/stowage/clients/review"
)

// maximumFindings bounds the lines about one rule.
const maximumFindings = 20

// Findings writes how many findings there are, by rule, and then each of them. They must be sorted.
func Findings(w io.Writer, all []review.Finding, width int) {
	if len(all) == 0 {
		return
	}
	rows := [][]string{{"SEVERITY", "FINDING", "COUNT", "OBJECTS"}}
	var parts [][]review.Finding
	for rest := all; len(rest) > 0; {
		n := slices.IndexFunc(rest, func(f review.Finding) bool { return f.Severity != rest[0].Severity || f.Rule != rest[0].Rule })
		if n < 0 {
			n = len(rest)
		}
		part := rest[:n]
		rest = rest[n:]
		var objects []string
		for _, f := range part {
			objects = append(objects, strings.TrimPrefix(f.Object.Namespace+"/"+f.Object.Name, "/"))
		}
		rows = append(rows, []string{string(part[0].Severity), string(part[0].Rule), fmt.Sprint(n), words.Names(slices.Compact(objects))})
		parts = append(parts, part)
	}
	fmt.Fprintln(w)
	table(w, rows...)
	for _, part := range parts {
		quote.Fprintf(w, "\n%s, %s:\n", part[0].Severity, part[0].Rule)
		for i, f := range part {
			if i == maximumFindings {
				quote.Fprintf(w, "  and %d more\n", len(part)-i)
				break
			}
			f.At = "" // the object says enough
			WriteWrapped(w, "  ", "- "+f.String(), width)
		}
	}
}
