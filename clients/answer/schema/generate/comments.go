package main

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path"
	"path/filepath"
	"reflect"
	"regexp"
	"strconv"
	"strings"
)

// module is the module of the repository's root, in which packages have the paths of their folders.
const module = "github.com/stowage-scheduler/stowage"

// comments are the comments of Go code. Types are named by the path of their package and their name.
type comments struct {
	types     map[string]string
	fields    map[string]map[string]string // by type and field; fields of a message by their name in the contract
	constants map[string][]value           // of a type, in order
	local     map[string]string            // types that are declared in functions, and the type that each is
}

// value is a constant of a type.
type value struct{ name, text, comment string }

// nameOfType names a type as comments does.
func nameOfType(t reflect.Type) string {
	name, _, _ := strings.Cut(t.Name(), "[")
	return t.PkgPath() + "." + name
}

// field is the comment of a field of a struct.
func (c *comments) field(t reflect.Type, field string) string {
	name := nameOfType(t)
	if of, ok := c.local[name]; ok {
		name = of
	}
	return c.fields[name][field]
}

// readComments reads the packages with the types of documents.
func readComments(repository string) (*comments, error) {
	out := &comments{
		types: map[string]string{}, fields: map[string]map[string]string{}, constants: map[string][]value{}, local: map[string]string{},
	}
	for _, dir := range []string{"clients", "proto/stowage"} {
		err := filepath.WalkDir(filepath.Join(repository, dir), func(file string, d fs.DirEntry, err error) error {
			switch {
			case err != nil:
				return err
			case d.IsDir() && d.Name() == "testdata":
				return fs.SkipDir
			case d.IsDir() || !strings.HasSuffix(file, ".go") || strings.HasSuffix(file, "_test.go"):
				return nil
			}
			in, err := filepath.Rel(repository, filepath.Dir(file))
			if err != nil {
				return err
			}
			parsed, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.ParseComments|parser.SkipObjectResolution)
			if err != nil {
				return err
			}
			(&reader{comments: out, at: path.Join(module, filepath.ToSlash(in)), file: parsed}).read()
			return nil
		})
		if err != nil {
			return nil, err
		}
	}
	return out, nil
}

// reader reads a file of the package at a path.
type reader struct {
	*comments
	at   string
	file *ast.File
}

func (r *reader) read() {
	for _, d := range r.file.Decls {
		switch d := d.(type) {
		case *ast.FuncDecl:
			ast.Inspect(d, r.function)
		case *ast.GenDecl:
			for _, s := range d.Specs {
				switch s := s.(type) {
				case *ast.TypeSpec:
					r.typeSpec(d, s)
				case *ast.ValueSpec:
					r.value(s)
				}
			}
		}
	}
}

// function notes a type that a function declares.
func (r *reader) function(n ast.Node) bool {
	if s, ok := n.(*ast.TypeSpec); ok {
		of := s.Type
		if generic, ok := of.(*ast.IndexExpr); ok {
			of = generic.X
		}
		if name, ok := of.(*ast.Ident); ok {
			r.local[r.at+"."+s.Name.Name] = r.at + "." + name.Name
		}
	}
	return true
}

func (r *reader) typeSpec(d *ast.GenDecl, s *ast.TypeSpec) {
	name := r.at + "." + s.Name.Name
	doc := s.Doc
	if doc == nil {
		doc = d.Doc
	}
	r.types[name] = text(doc)
	fields, ok := s.Type.(*ast.StructType)
	if !ok {
		return
	}
	last := ""
	for _, f := range fields.Fields.List {
		comment := text(f.Doc)
		if comment != "" {
			last = comment
		} else if comment = text(f.Comment); comment != "" {
			last = ""
		}
		for _, ident := range f.Names {
			of, field := name, ident.Name
			if in, oneof, ok := contractName(f); ok {
				field = in
				if oneof { // a field of a oneof has a type of its own, with the names of the message and of the field
					of = of[:strings.LastIndexByte(strings.TrimSuffix(of, "_"), '_')]
				}
			}
			this := comment
			if this == "" && regexp.MustCompile(`\b`+regexp.QuoteMeta(field)+`\b`).MatchString(last) {
				this = last // a comment may be about several fields
			}
			if r.fields[of] == nil {
				r.fields[of] = map[string]string{}
			}
			r.fields[of][field] = this
		}
	}
}

// contractName is the name in the contract of a field of a generated type, and whether it is in a oneof.
func contractName(f *ast.Field) (name string, oneof, ok bool) {
	if f.Tag == nil {
		return "", false, false
	}
	tag, err := strconv.Unquote(f.Tag.Value)
	if err != nil {
		return "", false, false
	}
	for part := range strings.SplitSeq(reflect.StructTag(tag).Get("protobuf"), ",") {
		if of, found := strings.CutPrefix(part, "name="); found {
			name, ok = of, true
		}
		oneof = oneof || part == "oneof"
	}
	// An optional scalar is in a oneof of its own, which has no type.
	_, pointer := f.Type.(*ast.StarExpr)
	return name, oneof && !(pointer && strings.Contains(tag, "json:")), ok
}

// value notes constants with a type.
func (r *reader) value(s *ast.ValueSpec) {
	var of string
	switch t := s.Type.(type) {
	case *ast.Ident:
		of = r.at + "." + t.Name
	case *ast.SelectorExpr:
		if x, ok := t.X.(*ast.Ident); ok {
			of = r.imported(x.Name) + "." + t.Sel.Name
		}
	default:
		return
	}
	comment := text(s.Doc)
	if comment == "" {
		comment = text(s.Comment)
	}
	for i, name := range s.Names {
		if i >= len(s.Values) {
			return
		}
		v := value{name: name.Name, comment: strings.TrimPrefix(comment, name.Name+": ")}
		if l, ok := s.Values[i].(*ast.BasicLit); ok && l.Kind == token.STRING {
			v.text, _ = strconv.Unquote(l.Value)
		}
		r.constants[of] = append(r.constants[of], v)
	}
}

// imported is the path of the package that a file imports by a name.
func (r *reader) imported(name string) string {
	for _, i := range r.file.Imports {
		at, _ := strconv.Unquote(i.Path.Value)
		if i.Name != nil && i.Name.Name == name || i.Name == nil && path.Base(at) == name {
			return at
		}
	}
	return ""
}

// text is a comment without its line breaks; paragraphs stay.
func text(c *ast.CommentGroup) string {
	var out []string
	for paragraph := range strings.SplitSeq(c.Text(), "\n\n") {
		out = append(out, strings.Join(strings.Fields(paragraph), " "))
	}
	return strings.Join(out, "\n")
}
