package main

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"unicode"

	"google.golang.org/protobuf/compiler/protogen"
	"google.golang.org/protobuf/reflect/protoreflect"
)

// omitted are values of enums that the canonical form leaves out like 0, by field.
var omitted = map[string]string{
	"PodSpec.preemption_policy": "PreemptionPolicy_PREEMPTION_POLICY_PREEMPT_LOWER_PRIORITY",
}

// writers generates the canonical writer.
func writers(p *protogen.Plugin, cluster *protogen.Message) error {
	g := begin(p, "proto/content/encode.pb.go", content, "content")
	for _, m := range reachable(cluster) {
		g.P()
		g.P("func ", lower(m), "(e *encoder, m *", m.GoIdent, ") {")
		fields, err := ascending(m)
		if err != nil {
			return err
		}
		for _, f := range fields {
			if err := write(g, f); err != nil {
				return err
			}
		}
		g.P("}")
	}
	return nil
}

// lower is the name of the functions for a message: podSpec for PodSpec, csiNode for CSINode.
func lower(m *protogen.Message) string {
	name := []rune(m.GoIdent.GoName)
	for i := range name {
		if i > 0 && i+1 < len(name) && unicode.IsLower(name[i+1]) {
			break
		}
		name[i] = unicode.ToLower(name[i])
	}
	return string(name)
}

// ascending returns the fields by number. The members of a oneof must be neighbours, as the first stands for all.
func ascending(m *protogen.Message) ([]*protogen.Field, error) {
	fields := slices.SortedFunc(slices.Values(m.Fields), func(a, b *protogen.Field) int { return cmp.Compare(a.Desc.Number(), b.Desc.Number()) })
	var out []*protogen.Field
	for i, f := range fields {
		if of := oneof(f); of != nil && f != of.Fields[0] {
			if oneof(fields[i-1]) != of {
				return nil, fmt.Errorf("%s: another field is between the members of the oneof", f.Desc.FullName())
			}
			continue
		}
		out = append(out, f)
	}
	return out, nil
}

// oneof returns the oneof of a field, nil for the synthetic oneof of an optional field.
func oneof(f *protogen.Field) *protogen.Oneof {
	if f.Oneof == nil || f.Oneof.Desc.IsSynthetic() {
		return nil
	}
	return f.Oneof
}

func write(g *protogen.GeneratedFile, f *protogen.Field) error {
	n, d := f.Desc.Number(), f.Desc
	of := "m." + f.GoName
	unknown := fmt.Errorf("%s: the writer does not know fields like it", d.FullName())
	switch {
	case oneof(f) != nil:
		return writeOneof(g, f.Oneof)
	case d.IsMap() && d.MapKey().Kind() != protoreflect.StringKind:
		return unknown
	case d.IsMap() && d.MapValue().Kind() == protoreflect.StringKind:
		g.P("entries(e, ", n, ", ", of, ", e.text)")
	case d.IsMap() && d.MapValue().Kind() == protoreflect.Int64Kind:
		g.P("entries(e, ", n, ", ", of, ", e.int64)")
	case d.IsMap():
		return unknown
	case f.Message != nil && d.IsList():
		g.P("each(e, ", n, ", ", of, ", ", lower(f.Message), ")")
	case f.Message != nil:
		g.P("one(e, ", n, ", ", of, ", ", lower(f.Message), ")")
	case d.Kind() == protoreflect.StringKind && d.IsList():
		g.P("e.strings(", n, ", ", of, ")")
	case d.IsList():
		return unknown
	case d.Kind() == protoreflect.StringKind && !d.HasPresence():
		g.P("e.string(", n, ", ", of, ")")
	case d.Kind() == protoreflect.BoolKind && !d.HasPresence():
		g.P("e.bool(", n, ", ", of, ")")
	case !isNumber(d.Kind()):
		return unknown
	case d.HasPresence():
		g.P("optional(e, ", n, ", ", of, ")")
	case omitted[name(f)] != "":
		g.P("if ", of, " != ", f.Enum.GoIdent.GoImportPath.Ident(omitted[name(f)]), " {")
		g.P("e.varint(", n, ", int64(", of, "))")
		g.P("}")
	default:
		g.P("e.varint(", n, ", int64(", of, "))")
	}
	return nil
}

func writeOneof(g *protogen.GeneratedFile, of *protogen.Oneof) error {
	g.P("switch is := m.", of.GoName, ".(type) {")
	for _, f := range of.Fields {
		g.P("case *", f.GoIdent, ":")
		switch {
		case f.Message != nil:
			g.P("nested(e, ", f.Desc.Number(), ", is.", f.GoName, ", ", lower(f.Message), ")")
		case isNumber(f.Desc.Kind()):
			g.P("e.uint(", f.Desc.Number(), ", uint64(is.", f.GoName, "))")
		default:
			return fmt.Errorf("%s: the writer does not know members of a oneof like it", f.Desc.FullName())
		}
	}
	g.P("}")
	return nil
}

// isNumber reports whether fields of a kind are written as varints. The contract has no others.
func isNumber(k protoreflect.Kind) bool {
	switch k {
	case protoreflect.Int32Kind, protoreflect.Int64Kind, protoreflect.Uint32Kind, protoreflect.EnumKind:
		return true
	}
	return false
}

// name is the name of a field in the tables, such as "Node.name".
func name(f *protogen.Field) string {
	return strings.TrimPrefix(string(f.Desc.FullName()), "stowage.v1.")
}
