package main

import (
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"google.golang.org/protobuf/proto"

	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/google/jsonschema-go/jsonschema"

	"github.com/stowage-scheduler/stowage/clients/answer"
)

// generator makes the schema of a verb.
type generator struct {
	comments *comments
	// defs are the schemas of types by name, such as answer.Node of Go and stowage.v1.Placement of the contract.
	defs map[string]*jsonschema.Schema
}

func reference(name string) *jsonschema.Schema { return &jsonschema.Schema{Ref: "#/$defs/" + name} }

func constant(value any) *any { return &value }

// document returns the schema of a document, as answer.Marshal encodes it.
func (g *generator) document(d document) (*jsonschema.Schema, error) {
	head, body, _ := d.of.Fields()
	out, err := g.object(structOf(head))
	if err != nil {
		return nil, err
	}
	if d.kind != "" {
		out.Properties["apiVersion"].Const, out.Properties["kind"].Const = constant(answer.APIVersion), constant(d.kind)
	}
	more := &jsonschema.Schema{}
	switch body := body.(type) {
	case nil:
	case proto.Message:
		more, err = g.message(body.ProtoReflect().Descriptor())
	default:
		more, err = g.object(structOf(body))
	}
	if err != nil {
		return nil, err
	}
	notes := &jsonschema.Schema{
		PropertyOrder: []string{"notes"},
		Properties: map[string]*jsonschema.Schema{"notes": {
			Type: "array", Items: &jsonschema.Schema{Type: "string"},
			Description: "What the input and the answer leave out, and what kube-scheduler might decide otherwise: a sentence each.",
		}},
	}
	for _, s := range []*jsonschema.Schema{more, notes} {
		if err := merge(out, s); err != nil {
			return nil, fmt.Errorf("%s: %w", d.kind, err)
		}
	}
	return out, nil
}

func structOf(v any) reflect.Type {
	t := reflect.TypeOf(v)
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	return t
}

// merge adds the properties of a schema. A property that both have must be optional in the first: it is absent in documents with both.
func merge(into, s *jsonschema.Schema) error {
	for _, name := range s.PropertyOrder {
		if slices.Contains(into.Required, name) {
			return fmt.Errorf("%s is twice in the document", name)
		}
		if i := slices.Index(into.PropertyOrder, name); i >= 0 {
			into.PropertyOrder = slices.Delete(into.PropertyOrder, i, i+1)
		}
		into.PropertyOrder = append(into.PropertyOrder, name)
		into.Properties[name] = s.Properties[name]
	}
	into.Required = append(into.Required, s.Required...)
	return nil
}

// object returns the schema of a struct, in which the types of fields are references.
func (g *generator) object(t reflect.Type) (*jsonschema.Schema, error) {
	known := map[reflect.Type]*jsonschema.Schema{}
	fields := fieldsOf(t, known)
	for _, f := range fields {
		if err := g.use(f.Type, known); err != nil {
			return nil, fmt.Errorf("%s: %w", f.Name, err)
		}
	}
	out, err := jsonschema.ForType(t, &jsonschema.ForOptions{TypeSchemas: known})
	if err != nil {
		return nil, err
	}
	notNull(out)
	for _, f := range fields {
		name := nameOf(f)
		if f.Type.Kind() == reflect.Pointer && slices.Contains(out.Required, name) {
			return nil, fmt.Errorf("%s.%s may be null", t, f.Name)
		}
		out.Properties[name].Description = g.comments.field(owner(t, f), f.Name)
	}
	return out, nil
}

// fieldsOf are the fields of a struct that JSON has. It replaces embedded structs that JSON does not have by empty ones.
func fieldsOf(t reflect.Type, known map[reflect.Type]*jsonschema.Schema) []reflect.StructField {
	var out []reflect.StructField
	var without []int // the index of an embedded struct whose fields follow
	for _, f := range reflect.VisibleFields(t) {
		if without != nil && len(f.Index) > len(without) && slices.Equal(f.Index[:len(without)], without) {
			continue
		}
		switch without = nil; {
		case f.Anonymous && nameOf(f) == "-":
			without = f.Index
			known[f.Type] = &jsonschema.Schema{Type: "object"}
		case !f.Anonymous && f.IsExported() && nameOf(f) != "-":
			out = append(out, f)
		}
	}
	return out
}

// nameOf is the name of a field in JSON.
func nameOf(f reflect.StructField) string {
	name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
	return name
}

// owner is the struct that declares a field: a struct, or one that it embeds.
func owner(t reflect.Type, f reflect.StructField) reflect.Type {
	for _, i := range f.Index[:len(f.Index)-1] {
		t = t.Field(i).Type
		if t.Kind() == reflect.Pointer {
			t = t.Elem()
		}
	}
	return t
}

var (
	messageType   = reflect.TypeFor[proto.Message]()
	marshalerType = reflect.TypeFor[json.Marshaler]()
)

// use notes how the types that a type consists of are encoded.
func (g *generator) use(t reflect.Type, known map[reflect.Type]*jsonschema.Schema) error {
	if t.Implements(messageType) {
		name, err := g.nameOfMessage(t)
		known[t.Elem()] = reference(name)
		return err
	}
	switch t.Kind() {
	case reflect.Pointer, reflect.Slice, reflect.Map:
		if t == reflect.TypeFor[json.RawMessage]() {
			return fmt.Errorf("%s can have anything", t)
		}
		return g.use(t.Elem(), known)
	case reflect.String:
		if values := g.comments.constants[nameOfType(t)]; len(values) > 0 {
			name := t.String()
			g.defs[name] = g.list(nameOfType(t), values)
			known[t] = reference(name)
		}
	case reflect.Struct:
		return g.useStruct(t, known)
	}
	return nil
}

func (g *generator) useStruct(t reflect.Type, known map[reflect.Type]*jsonschema.Schema) error {
	if t == reflect.TypeFor[resource.Quantity]() {
		known[t] = &jsonschema.Schema{Type: "string", Description: "A quantity of Kubernetes, such as 500m or 4Gi."}
		return nil
	}
	if t.NumField() == 1 && t.Field(0).Type.Implements(messageType) { // answer.Proto
		name, err := g.nameOfMessage(t.Field(0).Type)
		known[t] = reference(name)
		return err
	}
	if t.Implements(marshalerType) || reflect.PointerTo(t).Implements(marshalerType) {
		return fmt.Errorf("%s encodes itself, in a way that is not known here", t)
	}
	name := t.String()
	known[t] = reference(name)
	if g.defs[name] != nil {
		return nil
	}
	g.defs[name] = &jsonschema.Schema{} // for types that contain each other
	s, err := g.object(t)
	if err != nil {
		return fmt.Errorf("%s: %w", t, err)
	}
	s.Description = g.comments.types[nameOfType(t)]
	g.defs[name] = s
	return nil
}

// list returns the schema of a type with constants.
func (g *generator) list(typeName string, values []value) *jsonschema.Schema {
	out := &jsonschema.Schema{Type: "string", Description: g.comments.types[typeName]}
	for _, v := range values {
		out.Enum = append(out.Enum, v.text)
		if v.comment != "" {
			out.Description += fmt.Sprintf("\n%s: %s", v.text, v.comment)
		}
	}
	return out
}

// notNull removes null, which documents do not have: absent values are left out.
func notNull(s *jsonschema.Schema) {
	if s == nil {
		return
	}
	if s.Types = slices.DeleteFunc(s.Types, func(t string) bool { return t == "null" }); len(s.Types) == 1 {
		s.Type = s.Types[0]
	}
	if len(s.Types) < 2 {
		s.Types = nil
	}
	for _, p := range s.Properties {
		notNull(p)
	}
	notNull(s.Items)
	notNull(s.AdditionalProperties)
}
