// Package sizes bounds files, functions and structs of Go code in tests.
package sizes

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"strings"
	"testing"
)

// Sizes beyond which a file, a function or a struct holds more than one idea.
const (
	mostFileLines     = 400
	mostFunctionLines = 70
	mostFields        = 20
)

// Check bounds what is not a test in a folder, which has at least some files.
func Check(t *testing.T, dir string, some int) {
	t.Helper()
	files := token.NewFileSet()
	parsed := 0
	err := filepath.WalkDir(dir, func(path string, _ fs.DirEntry, err error) error {
		if err != nil || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
			return err
		}
		parsed++
		file, err := parser.ParseFile(files, path, nil, 0)
		if err != nil {
			return err
		}
		if lines := files.File(file.Pos()).LineCount(); lines > mostFileLines {
			t.Errorf("%s has %d lines", path, lines)
		}
		ast.Inspect(file, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.FuncDecl:
				if lines := files.Position(n.End()).Line - files.Position(n.Pos()).Line + 1; lines > mostFunctionLines {
					t.Errorf("%s: %s has %d lines", path, n.Name.Name, lines)
				}
			case *ast.TypeSpec:
				if s, is := n.Type.(*ast.StructType); is && s.Fields.NumFields() > mostFields {
					t.Errorf("%s: %s has %d fields", path, n.Name.Name, s.Fields.NumFields())
				}
			}
			return true
		})
		return nil
	})
	if err != nil || parsed < some {
		t.Fatalf("%d files: %v", parsed, err)
	}
}
