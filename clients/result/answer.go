package result

import (
	"bytes"
	"cmp"
	"encoding/json"
	"slices"

	"google.golang.org/protobuf/proto"

	"github.com/stowage-scheduler/stowage/clients/page"
	"github.com/stowage-scheduler/stowage/clients/report"
	"github.com/stowage-scheduler/stowage/clients/review"
	stowagev1 "github.com/stowage-scheduler/stowage/proto/stowage/v1"
)

// Answer is a document with the fields of a response of the contract, or of a value of package whatif or audit, after its own.
type Answer struct {
	answerFields
	title string
	good  bool
	value any
	below []page.Section
	names []string
	pods  report.Picture
}

type answerFields struct {
	Header
	// TopologyKey is the node label by which nodes are grouped, empty for none.
	TopologyKey string `json:"topologyKey,omitempty"`
	Nodes       []Node `json:"nodes"`
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
	Names []string
	// Cluster is that of the question, with new nodes behind its own. Effect, which may be nil, is what the answer does to it.
	Cluster *stowagev1.Cluster
	Effect  func(*Effect)
	// Before is the cluster without the changes of objects that the question makes; nil if it makes none.
	Before *stowagev1.Cluster
	// TopologyKey is the node label by which nodes are grouped, empty for a suitable one.
	TopologyKey string
}

// NewAnswer returns a document.
func NewAnswer(of AnswerOf) (*Answer, error) {
	e, err := newEffect(of.Cluster)
	if err != nil {
		return nil, err
	}
	if of.Before != nil {
		if err := e.was(of.Before); err != nil {
			return nil, err
		}
	}
	if of.Effect != nil {
		of.Effect(e)
	}
	first, below := of.Text.Sections()
	if of.Verdict != "" && of.Verdict != first {
		below = append([]page.Section{{Text: []string{first}}}, below...)
	}
	head := NewHeader(of.Kind, cmp.Or(of.Verdict, first))
	head.Findings = of.Findings
	key := cmp.Or(of.TopologyKey, report.TopologyKey(of.Cluster, nil))
	return &Answer{
		answerFields: answerFields{head, key, e.nodes(key)}, title: of.Title, good: of.Good, value: of.Value, below: below,
		names: of.Names, pods: e.pods,
	}, nil
}

// MarshalJSON has the document's fields, then those of the value.
func (a *Answer) MarshalJSON() ([]byte, error) {
	if m, ok := a.value.(proto.Message); ok {
		return With(a.answerFields, m)
	}
	head, err := json.Marshal(a.answerFields)
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

// Page is the answer for a browser.
func (a *Answer) Page() *page.Page {
	return &page.Page{
		Title: a.title, Verdict: a.Verdict, Good: a.good, Picture: picture(a.TopologyKey, a.Nodes, &a.pods),
		Sections: append(slices.Clip(a.below), table(cmp.Or(a.TopologyKey, "Domain"), a.Nodes)),
	}
}
