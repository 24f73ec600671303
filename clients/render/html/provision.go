package html

import "github.com/stowage-scheduler/stowage/clients/answer/provision"

// Provision is the page about nodes to add.
func Provision(a *provision.Answer) *Page {
	var sections []Section
	if rows := a.Templates(); len(rows) > 0 {
		sections = append(sections, Section{Title: "New nodes", Columns: []string{"Template", "Count", "Price"}, Rows: rows})
	}
	for _, text := range a.Uncounted() {
		sections = append(sections, Section{Text: []string{text}})
	}
	p := &placement{a.Place}
	p.Summarize()
	sections = append(append(sections, Section{Text: []string{p.Verdict}}), p.sections()...)
	for _, u := range a.Unplaced() {
		sections = append(sections, Section{Title: u.Text(), List: u.Templates})
	}
	out := ofCluster("Nodes to add", &a.Document, &a.Judgement, sections...)
	out.Picture.Pending = p.pending()
	return out
}
