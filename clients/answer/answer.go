// Package answer has the answers of stowage as typed documents: one package for each question, such as answer/explain. Each has a
// function Ask, which puts the question to a server and returns an Answer: the verdict, its doubts, what it found, and everything that
// the command prints. An Answer encodes itself as JSON; packages below render make text, HTML and SVG of it.
//
// A document in JSON has apiVersion, kind and verdict, the fields of its type, the fields of the response of the contract, in protojson,
// and notes. Amounts are quantities, exact, as in the status of a Node. Fields may be added; existing fields keep their meaning within
// APIVersion.
package answer

import (
	"bytes"
	"encoding/json"
	"io"
	"slices"

	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"

	"github.com/stowage-scheduler/stowage/clients/answer/words"
	"github.com/stowage-scheduler/stowage/clients/quote"
	"github.com/stowage-scheduler/stowage/clients/review"
)

// APIVersion is the version of the documents.
const APIVersion = "stowage.scheduling/v1"

// Header is the head of a document.
type Header struct {
	APIVersion string `json:"apiVersion"`
	Kind       string `json:"kind"`
	// Verdict is the answer in a sentence.
	Verdict string `json:"verdict"`
	// Findings are placement rules without effect or suspicious ones; absent if the question does not look for them.
	Findings []review.Finding `json:"findings,omitzero"`
}

// NewHeader returns the header of a document.
func NewHeader(kind, verdict string) Header {
	return Header{APIVersion: APIVersion, Kind: kind, Verdict: verdict}
}

// Found are the findings.
func (h *Header) Found() []review.Finding { return h.Findings }

// Status is whether an answer is a yes. Its number is the exit status of the command.
type Status int

// The statuses. An error is 2.
const (
	Yes    Status = 0
	No     Status = 1
	Unsure Status = 3
)

// Judgement is whether an answer is a yes, how sure it is, and what it leaves out.
type Judgement struct {
	Status Status
	// Doubts are what kube-scheduler might decide otherwise.
	Doubts words.Doubts
	// Caveats are why a yes is not sure, in a few words each; empty for a sure one, and for a no.
	Caveats []string
	// Notes are what the input and the answer leave out, a sentence each.
	Notes []string
}

// Judged is the judgement of an answer that embeds it.
func (j *Judgement) Judged() *Judgement { return j }

// ExitStatus is the exit status of the command. With allowUnsure an unsure yes is a yes.
func (j *Judgement) ExitStatus(allowUnsure bool) int {
	if j.Status == Unsure && allowUnsure && len(j.Caveats) > 0 {
		return int(Yes)
	}
	return int(j.Status)
}

// Caveat completes the headline of a yes that is not sure; empty if it is.
func (j *Judgement) Caveat() string { return words.Caveat(j.Caveats) }

// Remarks are the notes and the doubts, a line each.
func (j *Judgement) Remarks() []string { return slices.Concat(j.Notes, j.Doubts.Lines()) }

// Message encodes a message of the contract in JSON with every scalar, list and map, also if it is 0 or empty, so that scripts
// find each index in its place. Absent messages and optional fields are left out. protojson varies its white space from build to
// build, so the result has to be formatted.
func Message(m proto.Message) ([]byte, error) {
	return protojson.MarshalOptions{EmitDefaultValues: true}.Marshal(m)
}

// Proto is a message of the contract as a field of a document.
type Proto[M proto.Message] struct{ Message M }

// MarshalJSON encodes the message.
func (p Proto[M]) MarshalJSON() ([]byte, error) { return Message(p.Message) }

// Protos are messages of the contract as a field of a document.
type Protos[M proto.Message] []M

// MarshalJSON encodes the messages.
func (p Protos[M]) MarshalJSON() ([]byte, error) {
	out := make([]Proto[M], len(p))
	for i, m := range p {
		out[i].Message = m
	}
	return json.Marshal(out)
}

// Marshal encodes a document of its fields, which are what its method Fields returns: head has the fields of the document, body further
// ones, or is nil or a message of the contract, and the remarks of the judgement come last. The types of head and body are the same for
// every document of a kind, also for an empty one: schemas are made of them.
func Marshal(head, body any, of *Judgement) ([]byte, error) {
	parts := []any{head, body}
	if remarks := of.Remarks(); len(remarks) > 0 {
		parts = append(parts, struct {
			Notes []string `json:"notes"`
		}{remarks})
	}
	out := []byte("{")
	for _, part := range parts {
		text, err := marshal(part)
		if err != nil {
			return nil, err
		}
		if fields := bytes.TrimSpace(text[1 : len(text)-1]); len(fields) > 0 {
			if len(out) > 1 {
				out = append(out, ',')
			}
			out = append(out, fields...)
		}
	}
	return append(out, '}'), nil
}

// marshal encodes an object; nil is an empty one.
func marshal(part any) ([]byte, error) {
	switch part := part.(type) {
	case nil:
		return []byte("{}"), nil
	case proto.Message:
		text, err := Message(part)
		return bytes.TrimSpace(text), err
	default:
		return json.Marshal(part)
	}
}

// Encode writes a document as indented JSON, as the command does. Characters that change what a terminal shows are escaped.
func Encode(w io.Writer, document json.Marshaler) error {
	text, err := document.MarshalJSON()
	if err != nil {
		return err
	}
	var out bytes.Buffer
	if err := json.Indent(&out, text, "", "  "); err != nil {
		return err
	}
	out.WriteByte('\n')
	_, err = w.Write(quote.JSON(out.Bytes()))
	return err
}
