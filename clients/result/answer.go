package result

import (
	"bytes"
	"cmp"
	"encoding/json"
	"slices"

	"google.golang.org/protobuf/proto"

	"github.com/stowage-scheduler/stowage/clients/answer"
	"github.com/stowage-scheduler/stowage/clients/answer/words"
	"github.com/stowage-scheduler/stowage/clients/render/html"
	"github.com/stowage-scheduler/stowage/clients/render/text"
	"github.com/stowage-scheduler/stowage/clients/review"

	stowagev1 "github.com/stowage-scheduler/stowage/proto/stowage/v1"
)

// Answer is a document with the fields of a response of the contract, or of a value of package whatif or audit, after its own.
type Answer struct {
	answerFields
	title string
	good  bool
	warn  bool
	notes map[string]answer.DomainNote
	value any
	below []html.Section
	names []string
	pods  text.Picture
}

type answerFields struct {
	Header
	// TopologyKey is the node label by which nodes are grouped, empty for none.
	TopologyKey string        `json:"topologyKey,omitempty"`
	Nodes       []answer.Node `json:"nodes"`
	// Pods are those of the queue, and Moves those that move; absent if the answer does not have them.
	Pods  []answer.Pod  `json:"pods,omitzero"`
	Moves []answer.Move `json:"moves,omitzero"`
}

// AnswerOf is what an Answer is made of.
type AnswerOf struct {
	Kind, Title string
	// Text is the answer for people. Its first line is the verdict, unless that is stated.
	Text    *Paper
	Verdict string
	Good    bool
	// Warn says that a yes comes with warnings.
	Warn bool
	// Domains are what the answer says of domains of the topology key; nil for nothing.
	Domains map[string]answer.DomainNote
	// Value is a message or a value with fields in JSON.
	Value any
	// Findings are absent where Value has them.
	Findings []review.Finding
	// Names are as those of a Document.
	Names []string
	Pods  []answer.Pod
	// Cluster is that of the question. Effect, which may be nil, is what the answer does to it.
	Cluster *stowagev1.Cluster
	Effect  func(*answer.Effect)
	// Added are the names of the nodes of Templates that the answer adds to the cluster.
	Added     []string
	Templates []*stowagev1.NodeTemplate
	// Before is the cluster without the changes of objects that the question makes; nil if it makes none.
	Before *stowagev1.Cluster
	// TopologyKey is the node label by which nodes are grouped, empty for a suitable one.
	TopologyKey string
}

// NewAnswer returns a document.
func NewAnswer(of AnswerOf) (*Answer, error) {
	e, err := answer.NewEffect(answer.WithNodes(of.Cluster, of.Templates, of.Added))
	if err != nil {
		return nil, err
	}
	e.States(answer.Added, of.Added...)
	if of.Before != nil {
		if err := e.Was(of.Before); err != nil {
			return nil, err
		}
	}
	if of.Effect != nil {
		of.Effect(e)
	}
	first, below := of.Text.Sections()
	if of.Verdict != "" && of.Verdict != first {
		below = append([]html.Section{{Text: []string{first}}}, below...)
	}
	head := NewHeader(of.Kind, cmp.Or(of.Verdict, first))
	head.Findings = of.Findings
	key := cmp.Or(of.TopologyKey, words.TopologyKey(of.Cluster, nil))
	return &Answer{
		answerFields: answerFields{head, key, e.Nodes(key), of.Pods, e.AllMoves()}, title: of.Title, good: of.Good,
		warn: of.Warn, notes: of.Domains, value: of.Value,
		below: below, names: of.Names, pods: text.Picture{Cluster: e.Cluster(), New: e.New, Gone: e.Gone},
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
func (a *Answer) Page() *html.Page {
	return &html.Page{
		Title: a.title, Verdict: a.Verdict, Good: a.good, Warn: a.warn,
		Picture:  html.PictureOf(a.TopologyKey, a.Nodes, &a.pods, a.notes),
		Sections: append(slices.Clip(a.below), html.NodeTable(cmp.Or(a.TopologyKey, "Domain"), a.Nodes)),
	}
}
