package compare_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

// tableOf is a table of kube-scheduler's tests.
type tableOf struct {
	// File is in k8s.io/kubernetes, or in k8s.io/component-helpers.
	File   string `json:"file"`
	Test   string `json:"test"`
	Listed []struct {
		Reason string   `json:"reason"`
		Rows   []string `json:"rows"`
	} `json:"listed"`
}

// otherTests are tests of a file that are not run.
type otherTests struct {
	File   string   `json:"file"`
	Reason string   `json:"reason"`
	Tests  []string `json:"tests"`
}

// runTable is a table with the names of the rows that are run.
type runTable struct {
	tableOf
	run []string
}

// checkTables fails for a row, or a test of a file, that is neither run nor listed with a reason.
func checkTables(t *testing.T, tables []runTable, others []otherTests) {
	t.Helper()
	left := map[string]map[string][]string{} // rows by file and test
	rows := func(path, test string) []string {
		if left[path] == nil {
			left[path] = testsOf(t, path)
		}
		found, ok := left[path][test]
		if delete(left[path], test); !ok {
			t.Errorf("%s has no test %s, or it is named twice", path, test)
		}
		return found
	}
	for _, table := range tables {
		known := map[string]bool{}
		for _, name := range table.run {
			known[name] = true
		}
		for _, l := range table.Listed {
			for _, name := range l.Rows {
				if known[name] || l.Reason == "" {
					t.Errorf("%s, %s: run as well as listed, or listed without a reason", table.Test, name)
				}
				known[name] = true
			}
		}
		for _, name := range rows(table.File, table.Test) {
			if !known[name] {
				t.Errorf("%s, %s: neither run nor listed", table.Test, name)
			}
			delete(known, name)
		}
		for name := range known {
			t.Errorf("%s has no row %s", table.Test, name)
		}
	}
	for _, o := range others {
		for _, test := range o.Tests {
			if rows(o.File, test); o.Reason == "" {
				t.Errorf("%s %s is listed without a reason", o.File, test)
			}
		}
	}
	for path, tests := range left {
		for test := range tests {
			t.Errorf("%s %s is neither run nor listed", path, test)
		}
	}
}

// testsOf returns the rows of a file's tests, by test.
func testsOf(t *testing.T, path string) map[string][]string {
	t.Helper()
	module := "k8s.io/kubernetes"
	if strings.HasPrefix(path, "storage/") {
		module = "k8s.io/component-helpers"
	}
	root, err := exec.CommandContext(t.Context(), "go", "list", "-m", "-f", "{{.Dir}}", module).Output()
	if err != nil {
		t.Fatal(err)
	}
	parsed, err := parser.ParseFile(token.NewFileSet(), filepath.Join(strings.TrimSpace(string(root)), path), nil, parser.SkipObjectResolution)
	if err != nil {
		t.Fatal(err)
	}
	out := map[string][]string{}
	for _, d := range parsed.Decls {
		f, ok := d.(*ast.FuncDecl)
		if !ok || f.Recv != nil {
			continue
		}
		if name, called := strings.CutPrefix(f.Name.Name, "test"); called && name != "" { // the table of the test of that name
			out["Test"+name] = append(out["Test"+name], namesOfRows(f)...)
		} else if strings.HasPrefix(f.Name.Name, "Test") {
			out[f.Name.Name] = append(out[f.Name.Name], namesOfRows(f)...)
		}
	}
	return out
}

// namesOfRows returns the names of the rows of a test's table: the names in a list, or the keys of a map of rows.
func namesOfRows(f *ast.FuncDecl) (rows []string) {
	unquoted := func(e ast.Expr, field string) {
		pair, ok := e.(*ast.KeyValueExpr)
		if !ok {
			return
		}
		of := pair.Key
		if field != "" {
			if key, ok := pair.Key.(*ast.Ident); !ok || key.Name != field {
				return
			}
			of = pair.Value
		}
		if literal, ok := of.(*ast.BasicLit); ok && literal.Kind == token.STRING {
			name, _ := strconv.Unquote(literal.Value)
			rows = append(rows, name)
		}
	}
	ast.Inspect(f.Body, func(n ast.Node) bool {
		table, ok := n.(*ast.CompositeLit)
		if !ok || len(rows) > 0 {
			return len(rows) == 0
		}
		switch of := table.Type.(type) {
		case *ast.MapType:
			if key, ok := of.Key.(*ast.Ident); !ok || key.Name != "string" {
				return true
			}
			switch of.Value.(type) {
			case *ast.StructType, *ast.Ident:
				for _, e := range table.Elts {
					if _, row := e.(*ast.KeyValueExpr).Value.(*ast.CompositeLit); row {
						unquoted(e, "")
					}
				}
			}
		case *ast.ArrayType:
			if _, ok := of.Elt.(*ast.StructType); !ok {
				return true
			}
			for _, e := range table.Elts {
				for _, field := range e.(*ast.CompositeLit).Elts {
					unquoted(field, "name")
					unquoted(field, "test")
				}
			}
		}
		return len(rows) == 0
	})
	return rows
}
