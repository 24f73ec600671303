package main

import (
	"fmt"
	"reflect"
	"strings"

	"google.golang.org/protobuf/compiler/protogen"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
)

// into reads a message whose fields are set in the value around it.
func (g *reader) into(f *protogen.Field) {
	out := "&out"
	if g.of.into {
		out = "out"
	}
	g.P("in.next(", tag(f), ")")
	g.P("f := r.enter(at.field(", quoted(f), "), in.bytes())")
	g.P("r.", lower(f.Message), "(&f.at, &f.in, ", out, ")")
	g.P("r.leave(f, in)")
}

// readerOf returns the reader of a message field, which must read the engine's value.
func readerOf(f *protogen.Field, special field, value reflect.Type) (string, error) {
	if special.reader != "" {
		return special.reader, nil
	}
	if is := messages[f.Message.GoIdent.GoName].is; is != nil && reflect.TypeOf(is) != value {
		return "", fmt.Errorf("becomes %T, and not %v", is, value)
	}
	return lower(f.Message), nil
}

func (g *reader) nested(f *protogen.Field, to reflect.StructField, special field) error {
	limits := rules(f)
	if err := only(limits, "required"); err != nil {
		return err
	}
	read, value := "one", to.Type
	if value.Kind() == reflect.Pointer {
		read, value = "some", value.Elem()
	}
	reader, err := readerOf(f, special, value)
	if err != nil {
		return err
	}
	if limits.GetRequired() {
		g.P("r.require(in.nextIs(", tag(f), "), at.field(", quoted(f), "))")
	}
	g.P("out.", to.Name, " = ", read, "(r, at, in, ", f.Desc.Number(), ", ", quoted(f), ", (*reader).", reader, ")")
	return nil
}

func (g *reader) list(f *protogen.Field, to reflect.StructField, special field) error {
	limits := rules(f).GetRepeated()
	if err := only(limits, "max_items"); err != nil {
		return err
	}
	if !limits.HasMaxItems() || to.Type.Kind() != reflect.Slice {
		return fmt.Errorf("generated readers read lists with a greatest length")
	}
	reader, err := readerOf(f, special, to.Type.Elem())
	if err != nil {
		return err
	}
	read, slab := "list", ""
	if of := slabs[f.Message.GoIdent.GoName]; of != "" {
		read, slab = "listIn", "&r.to."+of+", "
	}
	g.P("out.", to.Name, " = ", read, "(r, at, in, ", f.Desc.Number(), ", ", quoted(f), ", ", limits.GetMaxItems(), ", ", slab,
		"(*reader).", reader, ")")
	return nil
}

func (g *reader) enum(f *protogen.Field, to reflect.StructField, special field) error {
	limits := rules(f).GetEnum()
	if !limits.GetDefinedOnly() || !notZero(f) && len(limits.GetNotIn()) > 0 {
		return fmt.Errorf("generated readers read defined values of enums, or of these all but 0")
	}
	var constants []string
	names := enums[f.Enum.GoIdent.GoName]
	if n := len(f.Enum.Values) - 1; special.means == "" && len(names) != n {
		return fmt.Errorf("table.go has %d of the %d values of %s", len(names), n, f.Enum.Desc.FullName())
	}
	found := false
	for i, v := range f.Enum.Values[1:] {
		if int(v.Desc.Number()) != i+1 {
			return fmt.Errorf("the values of %s are not numbered one after the other", f.Enum.Desc.FullName())
		}
		if special.means == "" {
			constants = append(constants, g.QualifiedGoIdent(values.Ident(names[i])))
			continue
		}
		is := strings.HasSuffix(string(v.Desc.Name()), "_"+special.means) && !strings.HasSuffix(string(v.Desc.Name()), "_NOT_"+special.means)
		found = found || is
		constants = append(constants, fmt.Sprint(is))
	}
	if special.means != "" && (!found || to.Type.Kind() != reflect.Bool) {
		return fmt.Errorf("no value of %s is %s, or %s is no bool", f.Enum.Desc.FullName(), special.means, to.Name)
	}
	number := fmt.Sprintf("%s(in.int32(%d))", g.QualifiedGoIdent(f.Enum.GoIdent), f.Desc.Number())
	g.P("out.", to.Name, ", _ = enum(r.problems, at, ", quoted(f), ", ", number, ", ", strings.Join(constants, ", "), ")")
	return nil
}

// notZero reports whether 0 is not among the values of an enum.
func notZero(f *protogen.Field) bool {
	not := rules(f).GetEnum().GetNotIn()
	return len(not) == 1 && not[0] == 0
}

// integers are how numbers are read without and with presence.
var integers = map[protoreflect.Kind]reflect.Kind{
	protoreflect.Int32Kind: reflect.Int32, protoreflect.Int64Kind: reflect.Int64, protoreflect.Uint32Kind: reflect.Uint32,
}

func (g *reader) integer(f *protogen.Field, to reflect.StructField) error {
	kind, ok := integers[f.Desc.Kind()]
	if !ok {
		return fmt.Errorf("generated readers do not read fields like it")
	}
	least, most, err := bounds(f)
	if err != nil {
		return err
	}
	value, pointer := to.Type, to.Type.Kind() == reflect.Pointer
	if pointer {
		value = value.Elem()
	}
	presence := f.Desc.HasPresence()
	if presence != pointer && !(presence && least != nil && *least > 0) {
		return fmt.Errorf("%s does not show whether the field is present", to.Name)
	}
	read := fmt.Sprintf("in.%v(%d)", kind, f.Desc.Number())
	if presence {
		read = fmt.Sprintf("in.%vValue()", kind)
		g.P("if in.next(", tag(f), ") {")
		defer g.P("}")
	}
	if value.Kind() != kind {
		read = fmt.Sprintf("%v(%s)", value.Kind(), read)
	}
	of := "out." + to.Name
	if pointer {
		read, of = "new("+read+")", "*"+of
	}
	g.P("out.", to.Name, " = ", read)
	switch {
	case most != nil:
		g.P("r.between(at.field(", quoted(f), "), int64(", of, "), ", *least, ", ", *most, ")")
	case least != nil:
		g.P("r.atLeast(at.field(", quoted(f), "), int64(", of, "), ", *least, ")")
	}
	return nil
}

// bounds returns the least and the greatest value of a number, nil if there is none.
func bounds(f *protogen.Field) (least, most *int64, err error) {
	var limits proto.Message
	switch f.Desc.Kind() {
	case protoreflect.Int32Kind:
		limits = rules(f).GetInt32()
	case protoreflect.Int64Kind:
		limits = rules(f).GetInt64()
	default:
		limits = rules(f).GetUint32()
	}
	limits.ProtoReflect().Range(func(rule protoreflect.FieldDescriptor, v protoreflect.Value) bool {
		n, isInt := v.Interface().(int32)
		number := int64(n)
		if !isInt {
			switch v := v.Interface().(type) {
			case int64:
				number = v
			case uint32:
				number = int64(v)
			}
		}
		switch rule.Name() {
		case "gte":
			least = &number
		case "lte":
			most = &number
		default:
			err = fmt.Errorf("generated readers do not check %s", rule.Name())
		}
		return err == nil
	})
	if most != nil && least == nil {
		err = fmt.Errorf("has a greatest value and no least one")
	}
	return least, most, err
}
