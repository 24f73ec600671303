package html

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/stowage-scheduler/stowage/clients/answer/explain"
	"github.com/stowage-scheduler/stowage/clients/answer/words"
	"github.com/stowage-scheduler/stowage/clients/render/text"
	stowagev1 "github.com/stowage-scheduler/stowage/proto/stowage/v1"
)

// Explain is the page about one pending pod.
func Explain(r *explain.Report) *Page {
	p := r.Answer()
	feasible := p.Response.GetFeasibleNodes().GetNames()
	out := &Page{
		Title: "Nodes for " + r.Pod.Namespace + "/" + r.Pod.Name, Verdict: r.Verdict, Good: p.Good(), Warn: len(p.Caveats) > 0,
		Picture: PictureOf(r.TopologyKey, r.Nodes, &text.Picture{Cluster: p.Words.Cluster, TopologyKey: r.TopologyKey}, nil),
	}
	if now := p.Now(); now != r.Verdict {
		out.Notes = append(out.Notes, now)
	}
	for _, note := range []string{r.Why, r.Preemption} {
		if note != "" {
			out.Notes = append(out.Notes, note)
		}
	}
	out.Notes = append(out.Notes, p.Given()...)
	if len(r.Remedies) > 0 {
		out.Sections = append(out.Sections, Section{Title: "Any one of these would place it", List: r.Remedies})
	}
	reasons := Section{Title: "Reasons", Columns: []string{"Nodes", "Verdict", "Plugin", "Which"}}
	if len(feasible) > 0 {
		reasons.Rows = append(reasons.Rows, []string{fmt.Sprint(len(feasible)), "can take it", "", words.Names(feasible)})
	}
	reasons.Rows = append(reasons.Rows, rejections(p.Response.GetRejections())...)
	out.Sections = append(out.Sections, reasons)
	if checks := text.Checks(p, text.Style{Width: text.Width}); checks != "" {
		out.Sections = append(out.Sections, Section{Title: "Every failing check", Plain: checks, Folded: true})
	}
	out.Sections = append(out.Sections, NodeTable(cmp.Or(r.TopologyKey, "Domain"), r.Nodes))
	out.Notes = append(out.Notes, p.Remarks()...)
	return out
}

// rejections are the rows of rejections: the number of nodes, the reasons, the plugin, and the nodes.
func rejections(all []*stowagev1.Rejection) [][]string {
	var rows [][]string
	for _, r := range all {
		var texts []string
		for _, reason := range r.GetReasons() {
			texts = append(texts, reason.GetMessage())
		}
		names := r.GetNodes().GetNames()
		rows = append(rows, []string{fmt.Sprint(len(names)), strings.Join(texts, ", "), words.Plugin(r.GetPlugin()), words.Names(names)})
	}
	return rows
}
