package compare_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// upstreamRow is a row of a table in kube-scheduler's integration tests; of a test without a table it is the test.
type upstreamRow struct {
	name string
	text string // its source
}

var preempts = regexp.MustCompile(`(?i)preempt`)

// Every row about preemption in kube-scheduler's integration tests with pod groups is run, or listed with the reason why it is not.
func TestEveryIntegrationRowIsRunOrListed(t *testing.T) {
	left := upstreamRows(t)
	for _, table := range integrationTables(t) {
		key := table.File + " " + table.Test
		rows, found := left[key]
		if delete(left, key); !found {
			t.Errorf("%s is no test of pod groups and preemption", key)
			continue
		}
		known := map[string]bool{}
		for _, r := range table.Rows {
			known[r.Row] = true
		}
		for _, l := range table.Listed {
			if l.Reason == "" {
				t.Errorf("%s: rows are listed without a reason", key)
			}
			for _, name := range l.Rows {
				if known[name] {
					t.Errorf("%s, %s: run as well as listed", key, name)
				}
				known[name] = true
			}
		}
		for _, r := range rows {
			if !known[r.name] && preempts.MatchString(r.text) {
				t.Errorf("%s, %s: neither run nor listed", key, r.name)
			}
			delete(known, r.name)
		}
		for name := range known {
			t.Errorf("%s has no row %s", key, name)
		}
	}
	for key := range left {
		t.Errorf("%s is about pod groups and preemption, and neither run nor listed", key)
	}
}

// upstreamRows returns the rows of the tests that mention pod groups and preemption, by file and test.
func upstreamRows(t *testing.T) map[string][]upstreamRow {
	t.Helper()
	module, err := exec.CommandContext(t.Context(), "go", "list", "-m", "-f", "{{.Dir}}", "k8s.io/kubernetes").Output()
	if err != nil {
		t.Fatal(err)
	}
	root := filepath.Join(strings.TrimSpace(string(module)), "test", "integration", "scheduler")
	out := map[string][]upstreamRow{}
	err = filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !strings.HasSuffix(path, "_test.go") {
			return err
		}
		file, err := filepath.Rel(root, path)
		if err != nil {
			return err
		}
		source, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		positions := token.NewFileSet()
		parsed, err := parser.ParseFile(positions, path, source, parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		text := func(n ast.Node) string {
			return string(source[positions.Position(n.Pos()).Offset:positions.Position(n.End()).Offset])
		}
		for _, d := range parsed.Decls {
			f, ok := d.(*ast.FuncDecl)
			if !ok || f.Recv != nil || !strings.HasPrefix(f.Name.Name, "Test") || f.Name.Name == "TestMain" {
				continue
			}
			if of := text(f); !strings.Contains(of, "PodGroup") || !preempts.MatchString(of) {
				continue
			}
			out[filepath.ToSlash(file)+" "+f.Name.Name] = rowsOf(f, text)
		}
		return nil
	})
	if err != nil || len(out) == 0 {
		t.Fatalf("%d tests, %v", len(out), err)
	}
	return out
}

// rowsOf returns the rows of a test's table, which is the first list of literals with names.
func rowsOf(f *ast.FuncDecl, text func(ast.Node) string) []upstreamRow {
	var rows []upstreamRow
	ast.Inspect(f.Body, func(n ast.Node) bool {
		list, ok := n.(*ast.CompositeLit)
		if !ok || len(rows) > 0 {
			return len(rows) == 0
		}
		for _, e := range list.Elts {
			if row, ok := e.(*ast.CompositeLit); ok && nameOf(row) != "" {
				rows = append(rows, upstreamRow{nameOf(row), text(row)})
			}
		}
		return len(rows) == 0
	})
	if rows == nil {
		rows = []upstreamRow{{f.Name.Name, text(f)}}
	}
	return rows
}

// nameOf returns the name in a row, "" for none.
func nameOf(row *ast.CompositeLit) string {
	i := slices.IndexFunc(row.Elts, func(e ast.Expr) bool {
		pair, ok := e.(*ast.KeyValueExpr)
		if !ok {
			return false
		}
		key, ok := pair.Key.(*ast.Ident)
		return ok && key.Name == "name"
	})
	if i < 0 {
		return ""
	}
	literal, ok := row.Elts[i].(*ast.KeyValueExpr).Value.(*ast.BasicLit)
	if !ok {
		return ""
	}
	name, _ := strconv.Unquote(literal.Value)
	return name
}
