package main

import (
	"fmt"
	"math"
	"reflect"
	"strings"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"

	"github.com/google/jsonschema-go/jsonschema"
)

// nameOfMessage defines a message of the contract, given as the type of its pointer, and returns its name.
func (g *generator) nameOfMessage(t reflect.Type) (string, error) {
	return g.define(reflect.Zero(t).Interface().(proto.Message).ProtoReflect().Descriptor())
}

// define defines a message, with what it consists of, and returns its name.
func (g *generator) define(d protoreflect.MessageDescriptor) (string, error) {
	name := string(d.FullName())
	if g.defs[name] != nil {
		return name, nil
	}
	g.defs[name] = &jsonschema.Schema{} // for messages that contain each other
	s, err := g.message(d)
	if err != nil {
		return "", err
	}
	g.defs[name] = s
	return name, nil
}

// message returns the schema of a message as answer.Message encodes it: fields without presence are never left out.
func (g *generator) message(d protoreflect.MessageDescriptor) (*jsonschema.Schema, error) {
	switch d.FullName() {
	case "google.protobuf.Timestamp":
		return &jsonschema.Schema{Type: "string", Format: "date-time"}, nil
	case "google.protobuf.Duration":
		return &jsonschema.Schema{Type: "string", Pattern: `^-?[0-9]+(\.[0-9]+)?s$`}, nil
	}
	goName, err := goNameOf(d)
	if err != nil {
		return nil, err
	}
	out := &jsonschema.Schema{
		Type: "object", Description: g.comments.types[goName],
		Properties: map[string]*jsonschema.Schema{}, AdditionalProperties: &jsonschema.Schema{Not: &jsonschema.Schema{}},
	}
	for i := range d.Fields().Len() {
		f := d.Fields().Get(i)
		s, err := g.field(f)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", f.FullName(), err)
		}
		s.Description = g.comments.fields[goName][string(f.Name())]
		name := f.JSONName()
		out.Properties[name], out.PropertyOrder = s, append(out.PropertyOrder, name)
		if !f.HasPresence() {
			out.Required = append(out.Required, name)
		}
	}
	return out, nil
}

// goNameOf is the name of a message's Go type.
func goNameOf(d protoreflect.MessageDescriptor) (string, error) {
	t, err := protoregistry.GlobalTypes.FindMessageByName(d.FullName())
	if err != nil {
		return "", err
	}
	return nameOfType(reflect.TypeOf(t.Zero().Interface()).Elem()), nil
}

func (g *generator) field(f protoreflect.FieldDescriptor) (*jsonschema.Schema, error) {
	if f.IsMap() {
		values, err := g.single(f.MapValue())
		return &jsonschema.Schema{Type: "object", AdditionalProperties: values}, err
	}
	one, err := g.single(f)
	if f.IsList() {
		return &jsonschema.Schema{Type: "array", Items: one}, err
	}
	return one, err
}

// single returns the schema of a value in protojson.
func (g *generator) single(f protoreflect.FieldDescriptor) (*jsonschema.Schema, error) {
	switch f.Kind() {
	case protoreflect.MessageKind:
		name, err := g.define(f.Message())
		return reference(name), err
	case protoreflect.EnumKind:
		return reference(g.enum(f.Enum())), nil
	case protoreflect.BoolKind:
		return &jsonschema.Schema{Type: "boolean"}, nil
	case protoreflect.StringKind:
		return &jsonschema.Schema{Type: "string"}, nil
	case protoreflect.BytesKind:
		return &jsonschema.Schema{Type: "string", ContentEncoding: "base64"}, nil
	case protoreflect.Int32Kind:
		return &jsonschema.Schema{
			Type: "integer", Minimum: jsonschema.Ptr(float64(math.MinInt32)), Maximum: jsonschema.Ptr(float64(math.MaxInt32)),
		}, nil
	case protoreflect.Uint32Kind:
		return &jsonschema.Schema{Type: "integer", Minimum: jsonschema.Ptr(0.0), Maximum: jsonschema.Ptr(float64(math.MaxUint32))}, nil
	case protoreflect.Int64Kind:
		return &jsonschema.Schema{Type: "string", Pattern: "^-?[0-9]+$"}, nil
	case protoreflect.Uint64Kind:
		return &jsonschema.Schema{Type: "string", Pattern: "^[0-9]+$"}, nil
	}
	return nil, fmt.Errorf("fields of kind %s are not known here", f.Kind())
}

// enum defines an enum of the contract and returns its name.
func (g *generator) enum(d protoreflect.EnumDescriptor) string {
	name := string(d.FullName())
	if g.defs[name] != nil {
		return name
	}
	var goName string
	if t, err := protoregistry.GlobalTypes.FindEnumByName(d.FullName()); err == nil {
		goName = nameOfType(reflect.TypeOf(t.New(0)))
	}
	var values []value
	for i := range d.Values().Len() {
		v := value{text: string(d.Values().Get(i).Name())}
		for _, c := range g.comments.constants[goName] {
			if strings.HasSuffix(c.name, "_"+v.text) {
				v.comment = c.comment
			}
		}
		values = append(values, v)
	}
	g.defs[name] = g.list(goName, values)
	return name
}
