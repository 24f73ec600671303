package html

import (
	"fmt"

	"github.com/stowage-scheduler/stowage/clients/answer/audit"
)

// Audit is the page about what is wrong with a cluster. Warnings alone leave it good.
func Audit(a *audit.Answer) *Page {
	var sections []Section
	if text := a.Unjudged(); text != "" {
		sections = append(sections, Section{Text: []string{text}})
	}
	rules := a.ByRule()
	if len(rules) > 0 {
		found := Section{Title: "Findings", Columns: []string{"Severity", "Finding", "Count", "Objects"}}
		for i := range rules {
			found.Rows = append(found.Rows, rules[i].Cells())
		}
		sections = append(sections, found)
	}
	for i := range rules {
		lines, more := rules[i].Lines()
		if more > 0 {
			lines = append(lines, fmt.Sprintf("and %d more", more))
		}
		sections = append(sections, Section{Title: fmt.Sprintf("%s, %s", rules[i].Severity, rules[i].Rule), List: lines})
	}
	out := ofCluster("Audit", &a.Document, &a.Judgement, sections...)
	out.Good, out.Warn = a.Sound(), out.Warn || a.Summary.Warnings > 0
	return out
}
