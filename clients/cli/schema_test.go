package cli_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/google/jsonschema-go/jsonschema"

	"github.com/stowage-scheduler/stowage/clients/answer/schema"
	"github.com/stowage-scheduler/stowage/clients/cli"
)

// schemaOf returns the schema of what a command prints, and its name; nil for other formats than JSON.
func schemaOf(args []string) (*jsonschema.Resolved, string, error) {
	flag := slices.Index(args, "-o")
	if flag < 0 || flag+1 == len(args) || args[flag+1] != "json" || !slices.Contains(schema.Verbs(), args[0]) {
		return nil, "", nil
	}
	verb := args[0]
	if slices.Contains(args, "--watch") {
		verb += "-watch"
	}
	text, err := schema.Of(verb)
	if err != nil {
		return nil, verb, err
	}
	var s jsonschema.Schema
	if err := json.Unmarshal(text, &s); err != nil {
		return nil, verb, err
	}
	resolved, err := s.Resolve(nil)
	return resolved, verb, err
}

// invalid returns why the documents that a command printed do not have their schema, and the name of the schema; empty for output without one.
func invalid(args []string, out []byte) (verb string, err error) {
	s, verb, err := schemaOf(args)
	if s == nil || err != nil {
		return verb, err
	}
	for documents := json.NewDecoder(bytes.NewReader(out)); ; {
		var document any
		if err := documents.Decode(&document); errors.Is(err, io.EOF) {
			return verb, nil
		} else if err != nil {
			return verb, fmt.Errorf("stowage %v: %w", args, err)
		}
		if err := s.Validate(document); err != nil {
			return verb, fmt.Errorf("stowage %v: %w", args, err)
		}
	}
}

// TestDocumentsHaveTheirSchema validates the JSON of all examples and verbs.
func TestDocumentsHaveTheirSchema(t *testing.T) {
	for _, args := range append(jsonCommands(t), []string{
		"place", "-f", "../examples/01-required-zone-anti-affinity/nodes.yaml", "-f", "../examples/01-required-zone-anti-affinity/redash.yaml", "--watch", "-o", "json",
	}) {
		var stdout, stderr bytes.Buffer
		if code := cli.Run(t.Context(), args, nil, &stdout, &stderr); code == 2 {
			t.Errorf("%v: %s", args, stderr.String())
		}
		if verb, err := invalid(args, stdout.Bytes()); err != nil || verb == "" || stdout.Len() == 0 {
			t.Errorf("%v: %d bytes of %q, %v", args, stdout.Len(), verb, err)
		}
	}
}

// TestSchemasAreClosed changes a document of every verb: a field more, a field less and another kind do not have the schema.
func TestSchemasAreClosed(t *testing.T) {
	tried := map[string]bool{}
	for _, args := range jsonCommands(t) {
		if tried[args[0]] {
			continue
		}
		tried[args[0]] = true
		var stdout, stderr bytes.Buffer
		cli.Run(t.Context(), args, nil, &stdout, &stderr)
		for change, of := range map[string]func(map[string]any){
			"a field more":       func(d map[string]any) { d["more"] = 1 },
			"a field less":       func(d map[string]any) { delete(d, "verdict") },
			"another kind":       func(d map[string]any) { d["kind"] = "Report" },
			"another apiVersion": func(d map[string]any) { d["apiVersion"] = "stowage.scheduling/v2" },
		} {
			var document map[string]any
			if err := json.Unmarshal(stdout.Bytes(), &document); err != nil {
				t.Fatalf("%v: %v %s", args, err, stderr.String())
			}
			of(document)
			text, err := json.Marshal(document)
			if err != nil {
				t.Fatal(err)
			}
			if _, err := invalid(args, text); err == nil {
				t.Errorf("%s of %s: the schema allows it", change, args[0])
			}
		}
	}
	for _, verb := range schema.Verbs() {
		if verb != "place-watch" && !tried[verb] {
			t.Errorf("%s: no document was tried", verb)
		}
	}
}

// validated runs the command as a script calls it. It validates the documents that the command prints, and notes the result in a file of
// $SCHEMAS: exit statuses of scripts have a meaning of their own.
func validated(run func(stdout io.Writer) int) int {
	var out bytes.Buffer
	code := run(io.MultiWriter(os.Stdout, &out))
	verb, err := invalid(os.Args[1:], out.Bytes())
	if dir := os.Getenv("SCHEMAS"); dir != "" && verb != "" && code != 2 {
		if err != nil {
			verb = "invalid"
		}
		if err := os.WriteFile(filepath.Join(dir, verb), fmt.Append(nil, err), 0o600); err != nil {
			panic(err)
		}
	}
	return code
}

// checkValidated returns a directory for $SCHEMAS. At the end of a test it reports documents without their schema, and verbs without a
// document.
func checkValidated(t *testing.T, all bool) (dir string) {
	dir = t.TempDir()
	t.Cleanup(func() {
		if text, err := os.ReadFile(filepath.Join(dir, "invalid")); err == nil {
			t.Error(string(text))
		}
		for _, verb := range schema.Verbs() {
			if _, err := os.Stat(filepath.Join(dir, verb)); err != nil && all {
				t.Errorf("no script has a document of %s", verb)
			}
		}
	})
	return dir
}
