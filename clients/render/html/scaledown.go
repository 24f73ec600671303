package html

import (
	"fmt"
	"strings"

	"github.com/stowage-scheduler/stowage/clients/answer/scaledown"
)

// ScaleDown is the page about replicas to delete.
func ScaleDown(a *scaledown.Answer) *Page {
	var sections []Section
	for _, spread := range a.Spreads() {
		s := Section{Columns: []string{spread.GetTopologyKey(), "Before", "After"}}
		for _, d := range spread.GetDomains() {
			s.Rows = append(s.Rows, []string{d.GetValue(), fmt.Sprint(d.GetBefore()), fmt.Sprint(d.GetAfter())})
		}
		sections = append(sections, s)
	}
	if rows := a.Deletions(); len(rows) > 0 {
		sections = append(sections, Section{Title: "Deletions", Columns: []string{"Delete", "Node", "Cost", "Why"}, Rows: rows})
	}
	if len(a.Commands) > 0 {
		sections = append(sections, Section{Title: "Commands", Plain: strings.Join(a.Commands, "\n")})
	}
	return ofCluster("Which replicas to delete", &a.Document, &a.Judgement, sections...)
}
