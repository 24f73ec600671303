package html

import (
	"fmt"

	"github.com/stowage-scheduler/stowage/clients/answer/consolidate"
	"github.com/stowage-scheduler/stowage/clients/answer/words"
)

// Consolidate is the page about nodes to remove.
func Consolidate(a *consolidate.Answer) *Page {
	var sections []Section
	actions := Section{Title: "Actions", Columns: []string{"Remove", "Add", "Evicted", "Rounds", "Cost"}}
	for _, action := range a.Response.GetActions() {
		drained := action.GetDrain()
		actions.Rows = append(actions.Rows, []string{
			words.Names(drained.GetNodes().GetNames()), action.GetNewNodeName(), fmt.Sprint(drained.GetEvictedCount()),
			fmt.Sprint(drained.GetRoundCount()), fmt.Sprint(action.GetCostAfter()),
		})
	}
	if len(actions.Rows) > 0 {
		sections = append(sections, actions)
	}
	if kept := a.Kept(); len(kept) > 0 {
		sections = append(sections, Section{Title: "Left", List: kept})
	}
	sections = append(sections, moves(a.Cluster, a.Drains())...)
	if a.Truncated() {
		sections = append(sections, Section{Text: []string{"The answer does not list all pods."}})
	}
	return ofCluster("Which nodes can go", &a.Document, &a.Judgement, sections...)
}
