package html

import (
	"cmp"

	"github.com/stowage-scheduler/stowage/clients/answer"
	"github.com/stowage-scheduler/stowage/clients/answer/words"
	"github.com/stowage-scheduler/stowage/clients/render/text"
	stowagev1 "github.com/stowage-scheduler/stowage/proto/stowage/v1"
)

// ofCluster is the page about a cluster: its picture, sections, and its nodes.
func ofCluster(title string, d *answer.Document, j *answer.Judgement, sections ...Section) *Page {
	return &Page{
		Title: title, Verdict: d.Verdict, Good: j.Status != answer.No, Warn: len(j.Caveats) > 0, Notes: j.Remarks(),
		Picture:  pictureOf(d, nil),
		Sections: append(sections, NodeTable(cmp.Or(d.TopologyKey, "Domain"), d.Nodes)),
	}
}

// pictureOf draws the nodes of a document, with notes about their domains.
func pictureOf(d *answer.Document, notes map[string]answer.DomainNote) *Picture {
	pods := &text.Picture{Cluster: d.Effect.Cluster(), New: d.Effect.New, Gone: d.Effect.Gone}
	return PictureOf(d.TopologyKey, d.Nodes, pods, notes)
}

// moves are sections about the pods that drains move, none if no pod moves.
func moves(c *stowagev1.Cluster, drains []*stowagev1.NodeDrain) []Section {
	rows := (&words.Explanation{Cluster: c}).MoveRows(drains)
	if len(rows) == 0 {
		return nil
	}
	return []Section{{Title: "Moves", Columns: []string{"Pod", "From", "To", "Round"}, Rows: rows, Folded: true}}
}
