package html

import (
	"fmt"

	"github.com/stowage-scheduler/stowage/clients/answer/drain"
	"github.com/stowage-scheduler/stowage/clients/answer/words"
)

// Drain is the page about draining nodes.
func Drain(a *drain.Answer) *Page {
	drains := Section{Title: "Drains", Columns: []string{"Node", "Result", "Evicted", "Placed", "Staying"}}
	for _, d := range a.Drains {
		drains.Rows = append(drains.Rows, []string{
			words.Names(d.GetNodes().GetNames()), words.Result(d), fmt.Sprint(d.GetEvictedCount()), fmt.Sprint(d.GetPlacedCount()),
			fmt.Sprint(d.GetStayingCount()),
		})
	}
	sections := []Section{drains}
	for _, l := range a.Lists() {
		if len(l.Lines) > 0 {
			sections = append(sections, Section{Title: l.Title, List: l.Lines})
		}
	}
	sections = append(sections, moves(a.Cluster, a.Drains)...)
	if a.Truncated() {
		sections = append(sections, Section{Text: []string{"The answer does not list all pods."}})
	}
	out := ofCluster("Draining nodes", &a.Document, &a.Judgement, sections...)
	out.Good = a.Complete()
	return out
}
