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
		of.Set(reflect.MakeSlice(field.Type, 1, 1))
		byClass, byNode := none.Over(&one), one.Over(&none)
		for by, got := range map[string]NodeSpec{"class": byClass, "node": byNode} {
			if n := reflect.ValueOf(got).FieldByIndex(field.Index).Len(); n != 1 {
				t.Errorf("%s of the %s has %d values", field.Name, by, n)
			}
		}
	}
}
