package skew

import (
	"reflect"

	storagev1 "k8s.io/api/storage/v1"
)

var preventScheduling = index(reflect.TypeFor[storagev1.CSIDriverSpec](), "PreventPodSchedulingIfMissing") // since v1.36

// PreventsPodSchedulingIfMissing returns spec.preventPodSchedulingIfMissing of a CSIDriver, false if it is absent.
func PreventsPodSchedulingIfMissing(d *storagev1.CSIDriver) bool {
	if preventScheduling == nil {
		return false
	}
	set, _ := reflect.TypeAssert[*bool](reflect.ValueOf(&d.Spec).Elem().FieldByIndex(preventScheduling))
	return set != nil && *set
}
