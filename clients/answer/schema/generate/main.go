// Command generate writes the JSON Schema of the documents of each verb: generate [-out DIR]. It runs in the root of the repository,
// where it reads the comments that become descriptions.
package main

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"

	"github.com/google/jsonschema-go/jsonschema"

	"github.com/stowage-scheduler/stowage/clients/answer"
	"github.com/stowage-scheduler/stowage/clients/answer/audit"
	"github.com/stowage-scheduler/stowage/clients/answer/consolidate"
	"github.com/stowage-scheduler/stowage/clients/answer/drain"
	"github.com/stowage-scheduler/stowage/clients/answer/explain"
	"github.com/stowage-scheduler/stowage/clients/answer/fail"
	"github.com/stowage-scheduler/stowage/clients/answer/filter"
	"github.com/stowage-scheduler/stowage/clients/answer/fit"
	"github.com/stowage-scheduler/stowage/clients/answer/place"
	"github.com/stowage-scheduler/stowage/clients/answer/preempt"
	"github.com/stowage-scheduler/stowage/clients/answer/provision"
	"github.com/stowage-scheduler/stowage/clients/answer/scaledown"
	"github.com/stowage-scheduler/stowage/clients/answer/score"
	"github.com/stowage-scheduler/stowage/clients/answer/whatif"
)

// document is a document of a verb.
type document struct {
	kind string // empty for a document without a header
	of   interface {
		Fields() (head, body any, of *answer.Judgement)
	}
}

// documents are the documents that each verb prints.
var documents = map[string][]document{
	"audit":       {{audit.Kind, &audit.Answer{}}},
	"consolidate": {{consolidate.Kind, &consolidate.Answer{}}},
	"drain":       {{drain.Kind, &drain.Answer{}}},
	"explain":     {{explain.Kind, &explain.Report{}}, {explain.ListKind, &explain.List{}}},
	"fail":        {{fail.Kind, &fail.Answer{}}},
	"filter":      {{filter.Kind, &filter.Answer{}}},
	"fit":         {{fit.Kind, &fit.Answer{}}},
	"place":       {{place.Kind, &place.Answer{}}},
	"place-watch": {{"", &place.Part{}}},
	"preempt":     {{preempt.Kind, &preempt.Answer{}}},
	"provision":   {{provision.Kind, &provision.Answer{}}},
	"scale-down":  {{scaledown.Kind, &scaledown.Answer{}}},
	"score":       {{score.Kind, &score.Answer{}}},
	"what-if":     {{whatif.Kind, &whatif.Answer{}}},
}

func main() {
	out := flag.String("out", "clients/answer/schema", "the folder to write")
	flag.Parse()
	if err := write(".", *out); err != nil {
		fmt.Fprintln(os.Stderr, "generate:", err)
		os.Exit(1)
	}
}

// write writes the schemas of the documents of a repository.
func write(repository, out string) error {
	comments, err := readComments(repository)
	if err != nil {
		return err
	}
	g := &generator{comments: comments, defs: map[string]*jsonschema.Schema{}}
	for _, verb := range slices.Sorted(maps.Keys(documents)) {
		s, err := g.schemaOf(verb, documents[verb])
		if err != nil {
			return fmt.Errorf("%s: %w", verb, err)
		}
		if err := writeFile(filepath.Join(out, verb+".json"), s, definitions); err != nil {
			return err
		}
	}
	return writeFile(filepath.Join(out, definitions), &jsonschema.Schema{Schema: draft, Title: "types of documents of stowage", Defs: g.defs}, "")
}

const (
	draft = "https://json-schema.org/draft/2020-12/schema"
	// definitions is the file with the types that schemas share.
	definitions = "definitions.json"
)

// writeFile writes a schema, whose definitions are in a file; empty if they are its own.
func writeFile(path string, s *jsonschema.Schema, definitions string) error {
	text, err := json.MarshalIndent(s, "", "  ")
	if err != nil {
		return err
	}
	text = bytes.ReplaceAll(text, []byte(`"#/$defs/`), []byte(`"`+definitions+`#/$defs/`))
	return os.WriteFile(path, append(text, '\n'), 0o666)
}

// schemaOf returns the schema of the documents of a verb, without its definitions.
func (g *generator) schemaOf(verb string, all []document) (*jsonschema.Schema, error) {
	var schemas []*jsonschema.Schema
	for _, d := range all {
		s, err := g.document(d)
		if err != nil {
			return nil, err
		}
		s.Description = g.comments.types[nameOfType(structOf(d.of))]
		schemas = append(schemas, s)
	}
	root := schemas[0]
	if len(schemas) > 1 {
		root = &jsonschema.Schema{OneOf: schemas}
	}
	root.Schema, root.Title = draft, "stowage "+verb+" -o json"
	return root, nil
}
