package api

import (
	"reflect"
	"testing"
)

// TestOverKeepsEveryField states each field of NodeSpec by the class alone and by the node alone.
func TestOverKeepsEveryField(t *testing.T) {
	for field := range reflect.TypeFor[NodeSpec]().Fields() {
		var one, none NodeSpec
		of := reflect.ValueOf(&one).Elem().FieldByIndex(field.Index)
		if field.Type.Kind() == reflect.Pointer {
			of.Set(reflect.New(field.Type.Elem()))
		} else {
			of.Set(reflect.MakeSlice(field.Type, 1, 1))
		}
		byClass, byNode := none.Over(&one), one.Over(&none)
		for by, got := range map[string]NodeSpec{"class": byClass, "node": byNode} {
			if is := reflect.ValueOf(got).FieldByIndex(field.Index); is.IsZero() || is.Kind() == reflect.Slice && is.Len() != 1 {
				t.Errorf("%s of the %s is %v", field.Name, by, is)
			}
		}
	}
}
