package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/jsonschema-go/jsonschema"

	"github.com/stowage-scheduler/stowage/clients/answer"
	"github.com/stowage-scheduler/stowage/clients/answer/schema"
	stowagev1 "github.com/stowage-scheduler/stowage/proto/stowage/v1"
)

const repository = "../../../.."

// TestSchemasAreCurrent expects the schemas to be the schemas of today's types: make generate.
func TestSchemasAreCurrent(t *testing.T) {
	dir := t.TempDir()
	if err := write(repository, dir); err != nil {
		t.Fatal(err)
	}
	for _, name := range append(schema.Verbs(), "definitions") {
		got, err := os.ReadFile(filepath.Join("..", name+".json"))
		if err != nil {
			t.Fatal(err)
		}
		want, err := os.ReadFile(filepath.Join(dir, name+".json"))
		if err != nil {
			t.Errorf("%s is no verb", name)
		} else if d := cmp.Diff(string(want), string(got)); d != "" {
			t.Errorf("%s (-types +schema)\n%s", name, d)
		}
	}
	if n := len(schema.Verbs()); n != len(documents) {
		t.Errorf("%d of %d verbs have a schema", n, len(documents))
	}
}

// toy is a document with a head and a body.
type toy struct{ head, body any }

func (d toy) Fields() (head, body any, of *answer.Judgement) {
	return d.head, d.body, &answer.Judgement{}
}

// toySchema returns the schema of a document, with its definitions.
func toySchema(c *comments, d toy) ([]byte, error) {
	g := &generator{comments: c, defs: map[string]*jsonschema.Schema{}}
	s, err := g.schemaOf("toy", []document{{"", d}})
	if err != nil {
		return nil, err
	}
	s.Defs = g.defs
	return json.Marshal(s)
}

type encodesItself struct{}

func (encodesItself) MarshalJSON() ([]byte, error) { return nil, nil }

// TestTypesWithoutASchema expects an error about types whose JSON the schema could not describe.
func TestTypesWithoutASchema(t *testing.T) {
	c, err := readComments(repository)
	if err != nil {
		t.Fatal(err)
	}
	for want, d := range map[string]toy{
		"Pod may be null": {struct {
			Pod *answer.Pod `json:"pod"`
		}{}, nil},
		"can have anything": {struct {
			Raw json.RawMessage `json:"raw"`
		}{}, nil},
		"encodes itself": {struct {
			Field encodesItself `json:"field"`
		}{}, nil},
		"message is twice in the document": {struct {
			Message string `json:"message"`
		}{}, (*stowagev1.FitResponse)(nil)},
	} {
		if text, err := toySchema(c, d); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want %s\n%s", err, want, text)
		}
	}
}

// TestSchemaOfAToy holds what a schema has of Go and of the contract.
func TestSchemaOfAToy(t *testing.T) {
	c, err := readComments(repository)
	if err != nil {
		t.Fatal(err)
	}
	text, err := toySchema(c, toy{struct {
		// Verdict may also be in the body.
		Verdict          string                                `json:"verdict,omitempty"`
		State            answer.NodeState                      `json:"state"`
		Summary          answer.Proto[*stowagev1.DrainSummary] `json:"summary,omitzero"`
		Left             string                                `json:"-"`
		answer.Judgement `json:"-"`
	}{}, struct {
		Verdict int `json:"verdict"`
	}{}})
	if err != nil {
		t.Fatal(err)
	}
	var got struct {
		Properties map[string]map[string]any
		Required   []string
		Additional *bool `json:"additionalProperties"`
		Defs       map[string]struct {
			Enum       []string
			Properties map[string]map[string]any
			Required   []string
		} `json:"$defs"`
	}
	if err := json.Unmarshal(text, &got); err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff([]string{"state", "verdict"}, got.Required); d != "" || got.Additional == nil || *got.Additional || len(got.Properties) != 4 {
		t.Error(d, string(text))
	}
	if got.Properties["verdict"]["type"] != "integer" || got.Properties["summary"]["$ref"] != "#/$defs/stowage.v1.DrainSummary" {
		t.Error(got.Properties)
	}
	if d := cmp.Diff([]string{"added", "removed", "failed"}, got.Defs["answer.NodeState"].Enum); d != "" {
		t.Error(d)
	}
	summary := got.Defs["stowage.v1.DrainSummary"]
	if summary.Properties["drainedCount"]["description"] == "" || len(summary.Required) == 0 {
		t.Error(summary)
	}
}
