package cluster

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"slices"
	"testing"
)

// TestFieldsAreListed looks for variables of the package that are a Field: a cluster has those in the list fields.
func TestFieldsAreListed(t *testing.T) {
	files, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	var defined, listed []string
	for _, name := range files {
		file, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(file, func(n ast.Node) bool {
			v, ok := n.(*ast.ValueSpec)
			if !ok || len(v.Names) != 1 || len(v.Values) != 1 {
				return true
			}
			switch value := v.Values[0].(type) {
			case *ast.UnaryExpr: // &Field[T]{}
				of, ok := value.X.(*ast.CompositeLit)
				if !ok {
					break
				}
				if generic, ok := of.Type.(*ast.IndexExpr); ok && isNamed(generic.X, "Field") {
					defined = append(defined, v.Names[0].Name)
				}
			case *ast.CompositeLit:
				if v.Names[0].Name == "fields" {
					for _, e := range value.Elts {
						listed = append(listed, e.(*ast.Ident).Name)
					}
				}
			}
			return true
		})
	}
	if len(defined) == 0 {
		t.Error("there is no Field")
	}
	for _, name := range defined {
		if !slices.Contains(listed, name) {
			t.Errorf("%s is not in the list fields of field.go", name)
		}
	}
}

func isNamed(e ast.Expr, name string) bool {
	ident, ok := e.(*ast.Ident)
	return ok && ident.Name == name
}
