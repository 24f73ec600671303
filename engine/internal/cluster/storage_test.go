package cluster

import (
	"reflect"
	"testing"

	"github.com/stowage-scheduler/stowage/engine/api"
)

// TestStorageChanges sets an object of each list and removes it again: the memory of the storage rises and falls.
func TestStorageChanges(t *testing.T) {
	for field := range reflect.TypeFor[api.Storage]().Fields() {
		var set, remove api.StorageChange
		objects := reflect.ValueOf(&set.Set).Elem().FieldByIndex(field.Index)
		objects.Set(reflect.MakeSlice(field.Type, 1, 1))
		objects.Index(0).FieldByName("Name").SetString("object")
		with := noStorage.with(&set)
		if with.bytes() <= noStorage.bytes() {
			t.Errorf("%s are not compiled", field.Name)
		}
		names := reflect.ValueOf(&remove.Removed).Elem().FieldByName(field.Name)
		names.Set(reflect.MakeSlice(names.Type(), 1, 1))
		if name := names.Index(0); name.Kind() == reflect.String {
			name.SetString("object")
		} else {
			name.FieldByName("Name").SetString("object")
		}
		before := with.bytes()
		if without := with.with(&remove); without.bytes() >= before || with.bytes() != before {
			t.Errorf("%s are not removed: %d bytes of %d are left", field.Name, without.bytes(), before)
		}
	}
}
