package cluster

import (
	"bytes"
	"reflect"
	"testing"

	"github.com/stowage-scheduler/stowage/engine/api"
	"github.com/stowage-scheduler/stowage/engine/internal/intern"
)

// TestEveryFieldOfAShapeTellsPodsApart: pods whose shapes have one identity are counted as one group. A field that the identity lacks
// makes rules see some of these pods as others.
func TestEveryFieldOfAShapeTellsPodsApart(t *testing.T) {
	table := intern.New()
	shape := func() *Shape {
		return compileShape(table, &api.PodTemplate{Namespace: "default"}, "", nil, false, nil)
	}
	of := reflect.TypeFor[Shape]()
	for i := range of.NumField() {
		if of.Field(i).Name == "Rules" {
			continue
		}
		s := shape()
		vary(t, reflect.ValueOf(s).Elem().Field(i), of.Field(i).Name)
		if s.identity(table, 0) == shape().identity(table, 0) {
			t.Errorf("Shape.identity lacks %s", of.Field(i).Name)
		}
	}
	of = reflect.TypeFor[Rules]()
	for i := range of.NumField() {
		if of.Field(i).Name == "id" {
			continue
		}
		s := shape()
		vary(t, reflect.ValueOf(s.Rules).Elem().Field(i), of.Field(i).Name)
		if bytes.Equal(s.Rules.key(), shape().Rules.key()) {
			t.Errorf("Rules.key lacks %s", of.Field(i).Name)
		}
	}
}

// vary gives a field another value.
func vary(t *testing.T, field reflect.Value, name string) {
	t.Helper()
	switch field.Kind() {
	case reflect.Bool:
		field.SetBool(!field.Bool())
	case reflect.String:
		field.SetString(field.String() + "x")
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		field.SetInt(field.Int() + 1)
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		field.SetUint(field.Uint() ^ 1)
	case reflect.Slice:
		field.Set(reflect.MakeSlice(field.Type(), field.Len()+1, field.Len()+1))
	default:
		t.Errorf("the test has no other value for %s", name)
	}
}
