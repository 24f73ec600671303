package html

import (
	"strings"

	"github.com/stowage-scheduler/stowage/clients/answer/whatif"
	"github.com/stowage-scheduler/stowage/clients/render/text"
)

// WhatIf is the page about a change.
func WhatIf(a *whatif.Answer) *Page {
	sections := []Section{{Title: "Changes", List: a.Changes}, {Text: a.Tally()}}
	for _, l := range a.Lists() {
		sections = append(sections, Section{Title: l.Title, List: l.Lines})
	}
	if len(a.ScaleDowns) > 0 {
		sections = append(sections, Section{Text: []string{whatif.ScaleDownAdvice}, Plain: strings.Join(a.ScaleDowns, "\n")})
	}
	if len(a.Rollouts) > 0 {
		var rollouts strings.Builder
		text.Rollouts(&rollouts, a.Rollouts, text.Width)
		sections = append(sections, Section{Title: "Rollouts", Plain: strings.TrimSpace(rollouts.String())})
	}
	return ofCluster("What if", &a.Document, &a.Judgement, sections...)
}
