package main

import (
	"fmt"
	"reflect"
	"slices"
	"strings"

	"buf.build/gen/go/bufbuild/protovalidate/protocolbuffers/go/buf/validate"
	"google.golang.org/protobuf/compiler/protogen"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
)

// readers generates the readers of the messages of a cluster.
func readers(p *protogen.Plugin, cluster *protogen.Message) error {
	g := begin(p, "server/decode/read.pb.go", decode, "decode")
	known, used := make(map[string]bool), make(map[string]bool)
	for _, m := range reachable(cluster) {
		known[m.GoIdent.GoName] = true
		of, ok := messages[m.GoIdent.GoName]
		if !ok {
			return fmt.Errorf("%s is not among the messages of table.go", m.Desc.FullName())
		}
		for _, f := range m.Fields {
			used[name(f)] = true
			if of := oneof(f); of != nil {
				used[m.GoIdent.GoName+"."+string(of.Desc.Name())] = true
			}
		}
		if of.is == nil {
			continue
		}
		if err := (&reader{g, of, reflect.TypeOf(of.is)}).message(m); err != nil {
			return err
		}
	}
	for name := range messages {
		if !known[name] {
			return fmt.Errorf("table.go has a message %s, which is none of a cluster", name)
		}
	}
	for name := range fields {
		if !used[name] {
			return fmt.Errorf("table.go has a field %s, which is none of a cluster", name)
		}
	}
	return nil
}

// reader generates the reader of one message.
type reader struct {
	*protogen.GeneratedFile
	of message
	is reflect.Type
}

func (g *reader) message(m *protogen.Message) error {
	value := values.Ident(g.is.Name())
	arguments, function := "&out", lower(m)
	g.P()
	switch {
	case g.of.function != "":
		arguments, function = g.of.arguments, g.of.function
		g.P("func (r *reader) ", function, "(at *path, in *scan, ", g.of.parameters, ") {")
		g.P("out := &", g.of.out)
	case g.of.into:
		arguments = "out"
		g.P("func (r *reader) ", function, "(at *path, in *scan, out *", value, ") {")
	default:
		g.P("func (r *reader) ", function, "(at *path, in *scan) (out ", value, ") {")
	}
	ordered, err := ascending(m)
	if err != nil {
		return err
	}
	for _, f := range ordered {
		if err := g.fieldOrNothing(f, arguments); err != nil {
			return fmt.Errorf("%s: %w", f.Desc.FullName(), err)
		}
	}
	if g.of.check {
		g.P("r.check", m.GoIdent.GoName, "(at, ", arguments, ")")
	}
	if arguments == "&out" {
		g.P("return out")
	}
	g.P("}")
	return nil
}

// fieldOrNothing reads a field. Most are absent: nothing is called for an absent one, unless it is refused or has a value.
func (g *reader) fieldOrNothing(f *protogen.Field, arguments string) error {
	special, of := fields[name(f)], oneof(f)
	if of != nil {
		special = fields[f.Parent.GoIdent.GoName+"."+string(of.Desc.Name())]
		if special.by == "" {
			return fmt.Errorf("a reader of the oneof must be in table.go")
		}
	}
	matters, err := whenAbsent(f, special)
	if err != nil {
		return err
	}
	if !matters {
		g.P("if in.nextIs(", tag(f), ") {")
		defer g.P("}")
	}
	if special.by != "" {
		g.P("r.", special.by, "(at, in, ", arguments, ")")
		return nil
	}
	return g.field(f, special)
}

// whenAbsent reports whether the reader must look at an absent field.
func whenAbsent(f *protogen.Field, special field) (bool, error) {
	if special.by != "" {
		return special.always, nil
	}
	limits := rules(f)
	least, _, err := bounds(f)
	return special.or != "" || limits.GetRequired() || limits.GetString().GetMinLen() > 0 || notZero(f) || least != nil && *least > 0, err
}

// tag is the encoded tag of a field.
func tag(f *protogen.Field) string {
	if kind := f.Desc.Kind(); !f.Desc.IsMap() && (kind == protoreflect.BoolKind || isNumber(kind)) {
		return fmt.Sprintf("number(%d)", f.Desc.Number())
	}
	return fmt.Sprintf("sized(%d)", f.Desc.Number())
}

// target returns the field of the engine's value: the one of table.go, or the one of the contract's name.
func (g *reader) target(f *protogen.Field, special field) (reflect.StructField, error) {
	want := f.GoName
	if special.as != "" {
		want = special.as
	}
	to, ok := g.is.FieldByNameFunc(func(name string) bool { return strings.EqualFold(name, want) })
	if !ok {
		return to, fmt.Errorf("%v has no field %s: add it, or name a field or a reader in table.go", g.is, want)
	}
	return to, nil
}

func (g *reader) field(f *protogen.Field, special field) error {
	d := f.Desc
	if f.Message != nil && !d.IsMap() && messages[f.Message.GoIdent.GoName].into {
		g.into(f)
		return nil
	}
	to, err := g.target(f, special)
	if err != nil {
		return err
	}
	switch {
	case d.IsMap():
		return g.labels(f, to)
	case f.Message != nil && d.IsList():
		return g.list(f, to, special)
	case f.Message != nil:
		return g.nested(f, to, special)
	case d.IsList():
		return g.texts(f, to, special)
	case d.Kind() == protoreflect.StringKind && to.Type.Kind() == reflect.String && !d.HasPresence():
		return g.text(f, to, special)
	case d.Kind() == protoreflect.BoolKind && to.Type.Kind() == reflect.Bool && !d.HasPresence():
		g.P("out.", to.Name, " = in.bool(", d.Number(), ")")
		return nil
	case f.Enum != nil && !d.HasPresence():
		return g.enum(f, to, special)
	}
	return g.integer(f, to)
}

// rules returns the limits of a field.
func rules(f *protogen.Field) *validate.FieldRules {
	out, _ := proto.GetExtension(f.Desc.Options(), validate.E_Field).(*validate.FieldRules)
	return out
}

// only fails on rules other than those named, which the generated code would not check.
func only(rules proto.Message, names ...protoreflect.Name) (err error) {
	rules.ProtoReflect().Range(func(f protoreflect.FieldDescriptor, _ protoreflect.Value) bool {
		if !slices.Contains(names, f.Name()) {
			err = fmt.Errorf("generated readers do not check %s", f.Name())
		}
		return err == nil
	})
	return err
}

func (g *reader) text(f *protogen.Field, to reflect.StructField, special field) error {
	n, limits := f.Desc.Number(), rules(f).GetString()
	if err := only(limits, "min_len", "max_bytes"); err != nil {
		return err
	}
	if special.or != "" {
		cmpOr := g.QualifiedGoIdent(protogen.GoImportPath("cmp").Ident("Or"))
		g.P("out.", to.Name, " = ", cmpOr, "(in.text(", n, "), ", fmt.Sprintf("%q", special.or), ")")
	} else {
		g.P("out.", to.Name, " = in.text(", n, ")")
	}
	switch {
	case limits.GetMinLen() > 1 || limits.GetMinLen() == 1 && !limits.HasMaxBytes():
		return fmt.Errorf("generated readers check a least length of 1, with a greatest one")
	case limits.GetMinLen() == 1:
		g.P("r.name(at, ", quoted(f), ", out.", to.Name, ", ", limits.GetMaxBytes(), ")")
	case limits.HasMaxBytes():
		g.P("r.short(at, ", quoted(f), ", out.", to.Name, ", ", limits.GetMaxBytes(), ")")
	}
	return nil
}

func quoted(f *protogen.Field) string { return fmt.Sprintf("%q", f.Desc.Name()) }

func (g *reader) texts(f *protogen.Field, to reflect.StructField, special field) error {
	limits := rules(f).GetRepeated()
	if f.Desc.Kind() != protoreflect.StringKind || !limits.HasMaxItems() || to.Type != reflect.TypeFor[[]string]() {
		return fmt.Errorf("generated readers read lists of texts with a greatest length")
	}
	g.P("out.", to.Name, " = r.texts(at, in, ", f.Desc.Number(), ", ", quoted(f), ", ", limits.GetMaxItems(), ")")
	if special.reader != "" {
		g.P("for i, text := range out.", to.Name, " {")
		g.P("r.", special.reader, "(at.item(", quoted(f), ", i), text)")
		g.P("}")
		return nil
	}
	items := limits.GetItems().GetString()
	if err := only(items, "min_len", "max_bytes"); err != nil || items == nil {
		return err
	}
	if items.GetMinLen() != 1 || !items.HasMaxBytes() {
		return fmt.Errorf("generated readers check elements with a least length of 1 and a greatest one")
	}
	g.P("r.eachName(at, ", quoted(f), ", out.", to.Name, ", ", items.GetMaxBytes(), ")")
	return nil
}

// labels reads a map of labels. All have the limits that r.labels knows.
func (g *reader) labels(f *protogen.Field, to reflect.StructField) error {
	limits := rules(f).GetMap()
	keys, values := limits.GetKeys().GetString(), limits.GetValues().GetString()
	if limits.GetMaxPairs() != 10_000 || keys.GetMinLen() != 1 || keys.GetMaxBytes() != 317 || values.GetMaxBytes() != 63 {
		return fmt.Errorf("generated readers read maps of labels, with the limits of Node.labels")
	}
	g.P("out.", to.Name, " = r.labels(at, in, ", f.Desc.Number(), ", ", quoted(f), ")")
	return nil
}
