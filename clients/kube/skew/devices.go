package skew

import (
	"reflect"

	resourcev1 "k8s.io/api/resource/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// DeviceTaintRule has the fields of a DeviceTaintRule that are read (k8s.io/api/resource/v1, v1.37). Older releases have it in versions of
// their own, with the same fields.
type DeviceTaintRule struct {
	metav1.ObjectMeta `json:"metadata"`
	Spec              DeviceTaintRuleSpec
}

// DeviceTaintRuleSpec is the spec of a DeviceTaintRule.
type DeviceTaintRuleSpec struct {
	DeviceSelector *DeviceTaintSelector
	Taint          resourcev1.DeviceTaint
}

// DeviceTaintSelector selects devices. Absent names select all.
type DeviceTaintSelector struct{ Driver, Pool, Device *string }

// ReadDeviceTaintRule copies a DeviceTaintRule, typed or unstructured.
func ReadDeviceTaintRule(o metav1.Object) (*DeviceTaintRule, error) {
	out := &DeviceTaintRule{ObjectMeta: metadata(o)}
	return out, readSpec(o, &out.Spec)
}

// compatibilityGroups is the index of a field that releases before v1.37 lack.
var compatibilityGroups = index(reflect.TypeFor[resourcev1.DeviceCounterConsumption](), "CompatibilityGroups")

// HasCompatibilityGroups reports whether what a device consumes has compatibility groups.
func HasCompatibilityGroups(c *resourcev1.DeviceCounterConsumption) bool {
	return compatibilityGroups != nil && reflect.ValueOf(c).Elem().FieldByIndex(compatibilityGroups).Len() > 0
}
