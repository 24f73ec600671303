package result

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"

	"github.com/stowage-scheduler/stowage/clients/answer"
	"github.com/stowage-scheduler/stowage/clients/answer/words"
	"github.com/stowage-scheduler/stowage/clients/render/html"
	"github.com/stowage-scheduler/stowage/clients/render/text"

	stowagev1 "github.com/stowage-scheduler/stowage/proto/stowage/v1"
)

// Drain is what draining nodes leads to: the document of kind DrainReport.
type Drain struct {
	drainFields
	drains []*stowagev1.NodeDrain
	pods   text.Picture
	words  *text.Drain
	parts  []*stowagev1.DrainResponse
}

type drainFields struct {
	Header
	// TopologyKey is the node label by which nodes are grouped, empty for none.
	TopologyKey string        `json:"topologyKey,omitempty"`
	Nodes       []answer.Node `json:"nodes"`
	// Moves are the pods that move and their new nodes, where the answer has them.
	Moves []answer.Move `json:"moves"`
	// Drains and Summary are the parts of the answer: NodeDrain and DrainSummary of the contract.
	Drains  []json.RawMessage `json:"drains"`
	Summary json.RawMessage   `json:"summary,omitempty"`
}

// NewDrain returns the document of an answer. d has its cluster.
func NewDrain(d *text.Drain, key string, parts []*stowagev1.DrainResponse) (*Drain, error) {
	e, err := answer.NewEffect(d.Cluster)
	if err != nil {
		return nil, err
	}
	out := &Drain{words: d, parts: parts, drainFields: drainFields{
		Header: NewHeader("DrainReport", d.Verdict(parts)), TopologyKey: key, Moves: []answer.Move{}, Drains: []json.RawMessage{},
	}}
	for _, p := range parts {
		if err := out.part(p); err != nil {
			return nil, err
		}
	}
	for _, a := range out.drains {
		if len(out.drains) == 1 || d.LargestSet { // else each drain is of the cluster as it is
			e.Moves(a)
		}
		drained := a.GetStatus() == stowagev1.DrainStatus_DRAIN_STATUS_DRAINED
		e.Drained(drained, a.GetNodes().GetNames()...)
		if !drained {
			e.Reason(words.Result(a), a.GetNodes().GetNames()...)
		}
	}
	out.Nodes, out.pods = e.Nodes(key), text.Picture{Cluster: d.Cluster, New: e.New, Gone: e.Gone}
	return out, nil
}

// part adds a part of the answer.
func (d *Drain) part(p *stowagev1.DrainResponse) error {
	if s := p.GetSummary(); s != nil {
		text, err := Message(s)
		d.Summary = compacted(text)
		return err
	}
	a := p.GetDrain()
	text, err := Message(a)
	d.drains, d.Drains = append(d.drains, a), append(d.Drains, compacted(text))
	for _, m := range a.GetMoves() {
		d.Moves = append(d.Moves, answer.MoveOf(d.words.Cluster, m))
	}
	return err
}

func compacted(text []byte) json.RawMessage {
	var out bytes.Buffer
	if json.Compact(&out, text) != nil {
		return text // protojson's error, which the caller has
	}
	return out.Bytes()
}

// MarshalJSON has the document's fields.
func (d *Drain) MarshalJSON() ([]byte, error) { return json.Marshal(d.drainFields) }

// Names are the nodes that can be drained.
func (d *Drain) Names() []string {
	var out []string
	for i := range d.Nodes {
		if n := &d.Nodes[i]; n.Drained != nil && *n.Drained {
			out = append(out, "node/"+n.Name)
		}
	}
	return out
}

// Page is the answer for a browser.
func (d *Drain) Page() *html.Page {
	out := &html.Page{
		Title: "Draining nodes", Verdict: d.Verdict, Good: text.Drained(d.drains) == len(d.drains),
		Warn:    d.words.Caveat != "",
		Picture: html.PictureOf(d.TopologyKey, d.Nodes, &d.pods, nil),
	}
	drains := html.Section{Title: "Drains", Columns: []string{"Node", "Result", "Evicted", "Placed", "Staying"}}
	for _, a := range d.drains {
		drains.Rows = append(drains.Rows, []string{
			words.Names(a.GetNodes().GetNames()), words.Result(a), fmt.Sprint(a.GetEvictedCount()), fmt.Sprint(a.GetPlacedCount()),
			fmt.Sprint(a.GetStayingCount()),
		})
	}
	out.Sections = append(out.Sections, drains)
	for _, s := range d.words.Lists(d.parts) {
		if len(s.Lines) > 0 {
			out.Sections = append(out.Sections, html.Section{Title: s.Title, List: s.Lines})
		}
	}
	if rows := d.words.MoveRows(d.parts); d.words.Moves && len(rows) > 0 {
		out.Sections = append(out.Sections, html.Section{
			Title: "Moves", Columns: []string{"Pod", "From", "To", "Round"}, Rows: rows, Folded: true,
		})
	}
	out.Sections = append(out.Sections, html.NodeTable(cmp.Or(d.TopologyKey, "Domain"), d.Nodes))
	return out
}
