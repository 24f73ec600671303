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

	"google.golang.org/protobuf/proto"

	"github.com/stowage-scheduler/stowage/clients/answer"
	"github.com/stowage-scheduler/stowage/clients/render/html"
)

// Document is an answer.
type Document interface {
	json.Marshaler
	// Names are the names that the answer is, as kubectl prints them: pod/web-1, node/a.
	Names() []string
	// Page is the answer for a browser.
	Page() *html.Page
}

// Header is the head of a document.
type Header = answer.Header

// NewHeader returns the header of a document.
func NewHeader(kind, verdict string) Header { return answer.NewHeader(kind, verdict) }

// Message encodes a message of the contract as package answer does.
func Message(m proto.Message) ([]byte, error) { return answer.Message(m) }

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
