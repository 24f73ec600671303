package api_test

import (
	"reflect"
	"testing"

	"github.com/stowage-scheduler/stowage/engine/api"
)

// TestStorageLists states objects in one list of storage objects after the other: every list counts, is sorted, and has names to remove.
func TestStorageLists(t *testing.T) {
	for field := range reflect.TypeFor[api.Storage]().Fields() {
		var change api.StorageChange
		set := reflect.ValueOf(&change.Set).Elem().FieldByIndex(field.Index)
		set.Set(reflect.MakeSlice(field.Type, 2, 2))
		set.Index(0).FieldByName("Name").SetString("b")
		set.Index(1).FieldByName("Name").SetString("a")
		if change.Set.Len() != 2 || change.Len() != 2 {
			t.Errorf("%s does not count", field.Name)
		}
		if change.Set.Sort(); set.Index(0).FieldByName("Name").String() != "a" {
			t.Errorf("%s is not sorted", field.Name)
		}
		names := reflect.ValueOf(&change.Removed).Elem().FieldByName(field.Name)
		if !names.IsValid() {
			t.Errorf("%s has no names to remove", field.Name)
			continue
		}
		if names.Set(reflect.MakeSlice(names.Type(), 1, 1)); change.Len() != 3 {
			t.Errorf("names of %s do not count", field.Name)
		}
	}
}
