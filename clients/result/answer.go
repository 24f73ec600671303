package result

import (
	"bytes"
	"cmp"
	"encoding/json"

	"google.golang.org/protobuf/proto"

	"github.com/stowage-scheduler/stowage/clients/fill"
	"github.com/stowage-scheduler/stowage/clients/page"
	"github.com/stowage-scheduler/stowage/clients/report"
	"github.com/stowage-scheduler/stowage/clients/review"
	stowagev1 "github.com/stowage-scheduler/stowage/proto/stowage/v1"
)

// Answer is a document with the fields of a response of the contract, or of a value of package whatif or audit, after its own.
type Answer struct {
	Header
	title string
	good  bool
	value any
	below []page.Section
	names []string
	// cluster is drawn with the pods that it has.
	cluster *stowagev1.Cluster
}

// AnswerOf is what an Answer is made of.
type AnswerOf struct {
	Kind, Title string
	// Text is the answer for people. Its first line is the verdict, unless that is stated.
	Text    *Paper
	Verdict string
	Good    bool
	// Value is a message or a value with fields in JSON.
	Value any
	// Findings are absent where Value has them.
	Findings []review.Finding
	// Names are as those of a Document.
	Names   []string
	Cluster *stowagev1.Cluster
}

// NewAnswer returns a document.
func NewAnswer(of AnswerOf) *Answer {
	first, below := of.Text.Sections()
	if of.Verdict != "" && of.Verdict != first {
		below = append([]page.Section{{Text: []string{first}}}, below...)
	}
	head := NewHeader(of.Kind, cmp.Or(of.Verdict, first))
	head.Findings = of.Findings
	return &Answer{
		Header: head, title: of.Title, good: of.Good, value: of.Value, below: below, names: of.Names, cluster: of.Cluster,
	}
}

// MarshalJSON has the document's fields, then those of the value.
func (a *Answer) MarshalJSON() ([]byte, error) {
	if m, ok := a.value.(proto.Message); ok {
		return With(a.Header, m)
	}
	head, err := json.Marshal(a.Header)
	if err != nil {
		return nil, err
	}
	text, err := json.Marshal(a.value)
	if err != nil {
		return nil, err
	}
	return append(append(head[:len(head)-1], ','), bytes.TrimSpace(text)[1:]...), nil
}

// Names are the pods or nodes that the answer is about.
func (a *Answer) Names() []string { return a.names }

// Page is the answer for a browser, with the cluster as it was before it.
func (a *Answer) Page() *page.Page {
	out := &page.Page{Title: a.title, Verdict: a.Verdict, Good: a.good, Sections: a.below}
	before, err := fill.Of(a.cluster)
	if err != nil { // the server would have refused the cluster
		return out
	}
	key := report.TopologyKey(a.cluster, nil)
	nodes := nodesOf(a.cluster, key, before, nil)
	out.Picture = picture(key, nodes, &report.Picture{Cluster: a.cluster, TopologyKey: key})
	return out
}
