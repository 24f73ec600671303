// Package result has the answers of stowage as typed documents in Kubernetes' words: which pod is on which node and why, how full
// nodes are, what would change the answer. JSON, YAML, JSONPath, templates, HTML and SVG are made from them.
//
// A document in JSON has apiVersion, kind and verdict, the fields of its type, and after them the fields of the response of the
// contract, in protojson. Amounts are quantities, exact, as in a Node's status. Fields may be added; those that are there keep their
// meaning within APIVersion.
package result

import (
	"bytes"
	"encoding/json"

	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"

	"github.com/stowage-scheduler/stowage/clients/page"
	"github.com/stowage-scheduler/stowage/clients/review"
)

// APIVersion is the version of the documents.
const APIVersion = "stowage.scheduling/v1"

// Document is an answer.
type Document interface {
	json.Marshaler
	// Names are the names that the answer is, as kubectl prints them: pod/web-1, node/a.
	Names() []string
	// Page is the answer for a browser.
	Page() *page.Page
}

// Header says what a document is.
type Header struct {
	APIVersion string `json:"apiVersion"`
	Kind       string `json:"kind"`
	// Verdict is the answer in a sentence.
	Verdict string `json:"verdict"`
	// Findings are placement rules that have no effect or look like mistakes; absent if the answer does not look for them.
	Findings []review.Finding `json:"findings,omitzero"`
}

// NewHeader returns the header of a document.
func NewHeader(kind, verdict string) Header {
	return Header{APIVersion: APIVersion, Kind: kind, Verdict: verdict}
}

// Message encodes a message of the contract in JSON with every scalar, list and map, also those that are 0 or empty: scripts then
// find each index in its place. Absent messages and optional fields are left out. protojson varies its white space from build to
// build, so the result has to be formatted.
func Message(m proto.Message) ([]byte, error) {
	return protojson.MarshalOptions{EmitDefaultValues: true}.Marshal(m)
}

// With encodes a message of the contract as Message does, with the fields of head before its own. Both have fields.
func With(head any, m proto.Message) ([]byte, error) {
	text, err := Message(m)
	if err != nil {
		return nil, err
	}
	first, err := json.Marshal(head)
	if err != nil {
		return nil, err
	}
	first = first[:len(first)-1]
	return append(append(first, ','), bytes.TrimSpace(text)[1:]...), nil
}
