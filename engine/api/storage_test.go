package api_test

import (
	"reflect"
	"testing"

	"github.com/stowage-scheduler/stowage/engine/api"
)

// objects are lists of objects, of storage or of devices.
type objects interface {
	Sort()
	Len() int
}

// TestStorageLists states objects in one list after the other: every list counts, is sorted, and has names to remove.
func TestStorageLists(t *testing.T) {
	testLists(t, func(c *api.StorageChange) objects { return &c.Set })
	testLists(t, func(c *api.DevicesChange) objects { return &c.Set })
}

func testLists[T any, C interface {
	*T
	Len() int
}](t *testing.T, list func(C) objects) {
	t.Helper()
	for field := range reflect.TypeOf(list(new(T))).Elem().Fields() {
		change := C(new(T))
		set := reflect.ValueOf(list(change)).Elem().FieldByIndex(field.Index)
		set.Set(reflect.MakeSlice(field.Type, 2, 2))
		set.Index(0).FieldByName("Name").SetString("b")
		set.Index(1).FieldByName("Name").SetString("a")
		if list(change).Len() != 2 || change.Len() != 2 {
			t.Errorf("%s does not count", field.Name)
		}
		if list(change).Sort(); set.Index(0).FieldByName("Name").String() != "a" {
			t.Errorf("%s is not sorted", field.Name)
		}
		names := reflect.ValueOf(change).Elem().FieldByName("Removed").FieldByName(field.Name)
		if !names.IsValid() {
			t.Errorf("%s has no names to remove", field.Name)
			continue
		}
		if names.Set(reflect.MakeSlice(names.Type(), 1, 1)); change.Len() != 3 {
			t.Errorf("names of %s do not count", field.Name)
		}
	}
}
