package quantity

import (
	"bytes"
	"reflect"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

var quantityType = reflect.TypeFor[resource.Quantity]()

// CheckJSON checks the quantities of a JSON text before it is decoded, with case-sensitive names. The error has the path of the first
// quantity that Check refuses, or that does not parse. It leaves other errors to the decoder. It checks all values of repeated names,
// because decoders decode each of them.
func CheckJSON(raw []byte, into any) error {
	w := walk{in: jsontext.NewDecoder(bytes.NewReader(raw), jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true))}
	w.value(reflect.TypeOf(into), nil)
	return w.err
}

// walk traverses a JSON text together with the type that it is decoded to.
type walk struct {
	in  *jsontext.Decoder
	err error
}

// value traverses the next value; t is nil for values that are not decoded. It reports whether to continue.
func (w *walk) value(t reflect.Type, path *field.Path) bool {
	for t != nil && t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	if t == quantityType {
		return w.quantity(path)
	}
	switch kind := w.in.PeekKind(); {
	case kind == jsontext.KindBeginObject && t != nil && (t.Kind() == reflect.Struct || t.Kind() == reflect.Map):
		return w.object(t, path)
	case kind == jsontext.KindBeginArray && t != nil && t.Kind() == reflect.Slice:
		return w.array(t, path)
	}
	return w.in.SkipValue() == nil
}

func (w *walk) quantity(path *field.Path) bool {
	value, err := w.in.ReadValue()
	if err != nil {
		return false
	}
	if err = checkValue(value); err == nil {
		err = new(resource.Quantity).UnmarshalJSON(value)
	}
	if err != nil {
		w.err = err
		if path != nil {
			w.err = &FieldError{path.String(), err}
		}
	}
	return err == nil
}

func (w *walk) array(t reflect.Type, path *field.Path) bool {
	if _, err := w.in.ReadToken(); err != nil {
		return false
	}
	for i := 0; w.in.PeekKind() != jsontext.KindEndArray; i++ {
		if !w.value(t.Elem(), path.Index(i)) {
			return false
		}
	}
	_, err := w.in.ReadToken()
	return err == nil
}

func (w *walk) object(t reflect.Type, path *field.Path) bool {
	if _, err := w.in.ReadToken(); err != nil {
		return false
	}
	for w.in.PeekKind() != jsontext.KindEndObject {
		name, err := w.in.ReadToken()
		if err != nil {
			return false
		}
		key := name.String()
		of, at := fieldOf(t, key), path.Child(key)
		if t.Kind() == reflect.Map {
			of = t.Elem()
			if of == quantityType {
				at = path.Key(key)
			}
		}
		if !w.value(of, at) {
			return false
		}
	}
	_, err := w.in.ReadToken()
	return err == nil
}

// fieldOf returns the type of the field that a name is decoded to, nil if there is none.
func fieldOf(t reflect.Type, name string) reflect.Type {
	if t.Kind() != reflect.Struct {
		return nil
	}
	for f := range t.Fields() {
		tag, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		switch {
		case tag == "" && f.Anonymous:
			inner := f.Type
			if inner.Kind() == reflect.Pointer {
				inner = inner.Elem()
			}
			if found := fieldOf(inner, name); found != nil {
				return found
			}
		case tag == name || tag == "" && f.Name == name:
			return f.Type
		}
	}
	return nil
}
