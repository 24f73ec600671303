package cli_test

import (
	"bytes"
	"encoding/json"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/stowage-scheduler/stowage/clients/cli"
)

// TestJSONDoesNotDependOnLayout builds the command with every word of package text in capitals and compares the JSON of all examples
// and verbs: it is a function of the answers alone.
func TestJSONDoesNotDependOnLayout(t *testing.T) {
	capitals := build(t, overlay(t, "../render/text"))
	for _, args := range jsonCommands(t) {
		var want, stderr bytes.Buffer
		code := cli.Run(t.Context(), args, nil, &want, &stderr)
		if code == 2 {
			t.Errorf("%v: %s", args, stderr.String())
			continue
		}
		command := exec.CommandContext(t.Context(), capitals, args...)
		got, _ := command.Output() // the exit status is compared
		if d := cmp.Diff(want.String(), string(got)); d != "" || command.ProcessState.ExitCode() != code {
			t.Errorf("%v: exit status %d, want %d (-want +got)\n%s", args, command.ProcessState.ExitCode(), code, d)
		}
	}
}

const pricedNode = `
apiVersion: v1
kind: Node
metadata:
  name: large
  labels: {topology.kubernetes.io/zone: eu-west-1d}
  annotations: {stowage.scheduling/price: "7"}
status: {allocatable: {cpu: "8", memory: 32Gi, pods: "110"}}
`

// jsonCommands are commands that print JSON: place and audit of every example, and each other verb of one.
func jsonCommands(t *testing.T) [][]string {
	examples, err := filepath.Glob("../examples/[0-9]*")
	if err != nil || len(examples) == 0 {
		t.Fatal(examples, err)
	}
	var out [][]string
	for _, dir := range examples {
		var files []string
		all, _ := filepath.Glob(filepath.Join(dir, "*.yaml"))
		for _, file := range all {
			if name := filepath.Base(file); name != "case.yaml" && name != "profile.yaml" {
				files = append(files, "-f", file)
			}
		}
		for _, verb := range []string{"place", "audit"} {
			out = append(out, append([]string{verb, "-o", "json"}, files...))
		}
	}
	priced := filepath.Join(t.TempDir(), "priced.yaml")
	if err := os.WriteFile(priced, []byte(pricedNode), 0o600); err != nil {
		t.Fatal(err)
	}
	out = append(out, []string{"consolidate", "-f", priced, "-o", "json"})
	const dir = "../examples/01-required-zone-anti-affinity/"
	nodes, all := []string{"-f", dir + "nodes.yaml", "-o", "json"}, []string{"-f", dir + "nodes.yaml", "-f", dir + "redash.yaml", "-o", "json"}
	for _, args := range [][]string{
		{"explain"}, {"explain", "deploy/redash"}, {"filter"}, {"score"}, {"preempt", "--safe", "--across-nodes"},
		{"fit", "--changes"}, {"provision", "--template", priced}, {"scale-down", "--replicas=0", "--workload=redash"},
	} {
		out = append(out, append(args, all...))
	}
	for _, args := range [][]string{
		{"drain", "--all"}, {"fail", "--each", "topology.kubernetes.io/zone"}, {"what-if", "--without-node", "node-a"},
	} {
		out = append(out, append(args, nodes...))
	}
	return out
}

// verb is what formats and quoting need as it is.
var verb = regexp.MustCompile(`%[-+# 0-9.*\[\]]*[a-zA-Z%]|\\.`)

// overlay returns the path of an overlay for the go command in which the words of a package are in capitals.
func overlay(t *testing.T, dir string) string {
	files, err := filepath.Glob(filepath.Join(dir, "*.go"))
	if err != nil || len(files) == 0 {
		t.Fatal(files, err)
	}
	out, replace := t.TempDir(), map[string]string{}
	for _, file := range files {
		if strings.HasSuffix(file, "_test.go") {
			continue
		}
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		path, err := filepath.Abs(file)
		if err != nil {
			t.Fatal(err)
		}
		replace[path] = filepath.Join(out, filepath.Base(file))
		if err := os.WriteFile(replace[path], capitalised(t, text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	text, err := json.Marshal(map[string]any{"Replace": replace})
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(out, "overlay.json")
	if err := os.WriteFile(path, text, 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// capitalised returns a file of Go with its strings in capitals, but for imports.
func capitalised(t *testing.T, text []byte) []byte {
	files := token.NewFileSet()
	parsed, err := parser.ParseFile(files, "", text, 0)
	if err != nil {
		t.Fatal(err)
	}
	var out []byte
	last := 0
	ast.Inspect(parsed, func(n ast.Node) bool {
		if _, imports := n.(*ast.ImportSpec); imports {
			return false
		}
		literal, ok := n.(*ast.BasicLit)
		if !ok || literal.Kind != token.STRING {
			return true
		}
		value, err := strconv.Unquote(literal.Value)
		if err != nil {
			t.Fatal(err)
		}
		var capital strings.Builder
		at := 0
		for _, m := range verb.FindAllStringIndex(value, -1) {
			capital.WriteString(strings.ToUpper(value[at:m[0]]) + value[m[0]:m[1]])
			at = m[1]
		}
		capital.WriteString(strings.ToUpper(value[at:]))
		out = append(append(out, text[last:files.Position(literal.Pos()).Offset]...), strconv.Quote(capital.String())...)
		last = files.Position(literal.End()).Offset
		return true
	})
	return append(out, text[last:]...)
}

func build(t *testing.T, overlay string) string {
	out := filepath.Join(t.TempDir(), "stowage")
	command := exec.CommandContext(t.Context(), "go", "build", "-overlay", overlay, "-o", out, "../cmd/stowage")
	if text, err := command.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	return out
}
