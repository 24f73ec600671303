package html

import (
	"slices"

	"github.com/stowage-scheduler/stowage/clients/answer/fit"
)

// Fit is the page about how many more pods fit.
func Fit(a *fit.Answer) *Page {
	var sections []Section
	if key := a.Options.TopologyKey; key != "" {
		if rows := a.Domains(); len(rows) > 0 {
			columns := slices.Concat([]string{key}, a.Parts("Pods"), []string{"Alone"})
			sections = append(sections, Section{Title: "Domains", Columns: columns, Rows: rows})
		} else {
			sections = append(sections, Section{Text: []string{"No node has the label " + key}})
		}
	}
	if next := a.Next(); next != "" {
		s := Section{Text: []string{next}}
		if a.Why != "" {
			s.Text = append(s.Text, a.Why)
		}
		if rows := rejections(a.Response.GetRejections()); len(rows) > 0 {
			s.Columns, s.Rows = []string{"Nodes", "Verdict", "Plugin", "Which"}, rows
		}
		sections = append(sections, s)
		if a.Options.Changes {
			changes := Section{Title: "With any one of these more fit", List: a.Changes()}
			if len(changes.List) == 0 {
				changes = Section{Text: []string{"No single change was found with which more fit."}}
			}
			sections = append(sections, changes)
		}
	}
	return ofCluster("How many more fit", &a.Document, &a.Judgement, sections...)
}
