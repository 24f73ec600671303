//go:build !js

package main_test

import (
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stowage-scheduler/stowage/clients/cli"
)

const (
	examples = "../../examples"
	// pending are pods that are pending in the issues and manuals of others.
	pending = "../../scenarios/testdata/pending"
)

// shortPart is the part of the pending pods that a short test has: every fourth.
const shortPart = 4

type file struct {
	Parameter string `json:"parameter"`
	Name      string `json:"name"`
	Text      string `json:"text"`
}

type call struct {
	Verb   string              `json:"verb"`
	Values map[string][]string `json:"values"`
	Files  []file              `json:"files"`
}

// line is the command line of a call.
func (c *call) line() []string {
	out := []string{c.Verb}
	for _, f := range c.Files {
		out = append(out, "-f", f.Name)
	}
	for name, values := range c.Values {
		for _, v := range values {
			out = append(out, "--"+name+"="+v)
		}
	}
	return out
}

// folders are the folders of the examples and of the pending pods.
func folders(t *testing.T) []string {
	t.Helper()
	var out []string
	for _, root := range []string{examples, pending} {
		cases, err := filepath.Glob(filepath.Join(root, "*", "case.yaml"))
		must(t, err)
		if len(cases) == 0 {
			t.Fatalf("%s has no cases", root)
		}
		for i, c := range cases {
			if root == pending && testing.Short() && i%shortPart > 0 {
				continue
			}
			folder, err := filepath.Abs(filepath.Dir(c))
			must(t, err)
			out = append(out, folder)
		}
	}
	return out
}

// questions are put about every example.
func questions(pod string) []call {
	with := func(verb string, pairs ...string) call {
		values := map[string][]string{"output": {"json"}}
		for i := 0; i < len(pairs); i += 2 {
			values[pairs[i]] = append(values[pairs[i]], pairs[i+1])
		}
		return call{Verb: verb, Values: values}
	}
	if testing.Short() {
		return []call{with("place"), with("explain", "pod", pod), with("audit"), with("fail", "each", "topology.kubernetes.io/zone")}
	}
	return []call{
		with("place"), with("place", "joint", "true"), with("place", "output", "svg"), with("audit"), with("consolidate"),
		with("drain", "all", "true"), with("fail", "each", "topology.kubernetes.io/zone"), with("filter", "pod", pod), with("score", "pod", pod),
		with("preempt", "pod", pod), with("explain", "pod", pod), with("fit", "mix", pod),
	}
}

// TestAnswersOfWebAssembly puts questions about every example and every pending pod of the corpus to the WebAssembly program under Node.js: the
// answers are the bytes that the command prints. `make test-ui` names the program.
func TestAnswersOfWebAssembly(t *testing.T) {
	program := os.Getenv("STOWAGE_WASM")
	if program == "" {
		t.Skip("STOWAGE_WASM names no program: make test-ui")
	}
	root, err := os.Getwd()
	must(t, err)
	var calls []call
	var in []string // the folders of the calls
	all := folders(t)
	for _, folder := range all {
		files := manifests(t, folder)
		for _, c := range questions(firstPod(t, folder, files)) {
			c.Files = files
			calls, in = append(calls, c), append(in, folder)
		}
	}
	results := run(t, program, calls)
	answered := 0
	expressions := slices.IndexFunc(calls, func(c call) bool {
		return slices.ContainsFunc(c.Files, func(f file) bool { return strings.Contains(f.Text, "expression:") })
	})
	for i, c := range calls {
		if loads := i == expressions; results[i].Loaded != loads {
			t.Errorf("%s: %s: the evaluator of expressions is loaded: %t, want %t", in[i], c.Verb, !loads, loads)
		}
		var out, notes bytes.Buffer
		t.Chdir(in[i])
		exit := cli.Run(t.Context(), c.line(), nil, &out, &notes)
		t.Chdir(root)
		got := results[i]
		if got.Exit != exit || got.Answer != out.String() {
			t.Errorf("%s: %s: exit status %d, want %d, %v\n%.2000s\nwant\n%.2000s%s",
				in[i], strings.Join(c.line(), " "), got.Exit, exit, got.Errors, got.Answer, out.String(), notes.String())
		}
		if exit != 2 {
			answered++
		}
	}
	t.Logf("%d cases, %d calls, %d answered", len(all), len(calls), answered)
	if answered < len(calls)/2 {
		t.Errorf("only %d of %d calls are answered", answered, len(calls))
	}
}

// manifests are the manifests of an example, by their names in its folder.
func manifests(t *testing.T, folder string) []file {
	t.Helper()
	paths, err := filepath.Glob(filepath.Join(folder, "*.yaml"))
	must(t, err)
	var out []file
	for _, p := range paths {
		if filepath.Base(p) == "case.yaml" {
			continue
		}
		text, err := os.ReadFile(p)
		must(t, err)
		out = append(out, file{"file", filepath.Base(p), string(text)})
	}
	return out
}

// firstPod is the name of a pod that place would place.
func firstPod(t *testing.T, folder string, files []file) string {
	t.Helper()
	args := []string{"place", "--output=name"}
	for _, f := range files {
		args = append(args, "-f", filepath.Join(folder, f.Name))
	}
	var out bytes.Buffer
	cli.Run(t.Context(), args, nil, &out, &bytes.Buffer{})
	first, _, _ := strings.Cut(out.String(), "\n")
	name, _, _ := strings.Cut(first, " ")
	return name[strings.LastIndex(name, "/")+1:]
}

// TestWithoutEvaluator has no program that evaluates expressions: a question that needs it is an error, and others are answered.
func TestWithoutEvaluator(t *testing.T) {
	program := os.Getenv("STOWAGE_WASM")
	if program == "" {
		t.Skip("STOWAGE_WASM names no program: make test-ui")
	}
	folder := t.TempDir()
	for _, name := range []string{filepath.Base(program), "wasm_exec.js"} {
		must(t, os.Symlink(filepath.Join(filepath.Dir(program), name), filepath.Join(folder, name)))
	}
	place := questions("")[0]
	ask := func(example string) call {
		c := place
		c.Files = manifests(t, filepath.Join(examples, example))
		return c
	}
	results := run(t, filepath.Join(folder, filepath.Base(program)), []call{ask("49-a-gpu-and-a-nic-on-one-pcie-root"), ask("15-spread-skew")})
	if r := results[0]; r.Exit != 2 || r.Answer != "" || len(r.Errors) != 1 || !strings.Contains(r.Errors[0].Detail, "stowage-cel.wasm") {
		t.Errorf("%+v", r)
	}
	if r := results[1]; r.Exit == 2 || len(r.Errors) > 0 {
		t.Errorf("%+v", r)
	}
}

type result struct {
	Loaded bool // the program that evaluates expressions
	Exit   int
	Answer string
	Notes  string
	Errors []struct{ Object, Field, Detail string }
}

func run(t *testing.T, program string, calls []call) []result {
	t.Helper()
	glue := filepath.Join(filepath.Dir(program), "wasm_exec.js")
	text, err := json.Marshal(calls)
	must(t, err)
	path := filepath.Join(t.TempDir(), "calls.json")
	must(t, os.WriteFile(path, text, 0o600))
	node := exec.CommandContext(t.Context(), "node", "run.cjs", glue, filepath.Dir(program), path)
	var notes bytes.Buffer
	node.Stderr = &notes
	out, err := node.Output()
	if err != nil {
		t.Fatalf("%v\n%s", err, notes.String())
	}
	var results []result
	must(t, json.Unmarshal(out, &results))
	if len(results) != len(calls) || !slices.ContainsFunc(results, func(r result) bool { return r.Answer != "" }) {
		t.Fatalf("%d results of %d calls", len(results), len(calls))
	}
	return results
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
