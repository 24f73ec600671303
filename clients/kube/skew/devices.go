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

// alphaField is a field of an alpha feature that is off in v1.37, and that older releases lack.
type alphaField struct {
	index []int
	name  string // in JSON
}

// alphaFields are the fields by type that kube-scheduler reads with a feature gate, or that change its decision without one: it refuses
// derived attributes, and requires a feature of nodes for a result that skips operations.
var alphaFields = map[reflect.Type][]alphaField{}

func init() {
	for _, of := range []struct {
		in          reflect.Type
		field, name string
	}{
		{reflect.TypeFor[resourcev1.DeviceCounterConsumption](), "CompatibilityGroups", "compatibilityGroups"},
		{reflect.TypeFor[resourcev1.Device](), "NodeAllocatableResources", "nodeAllocatableResources"},
		{reflect.TypeFor[resourcev1.ResourceSliceSpec](), "SkipNodeOperations", "skipNodeOperations"},
		{reflect.TypeFor[resourcev1.DeviceRequestAllocationResult](), "SkipNodeOperations", "skipNodeOperations"},
		{reflect.TypeFor[resourcev1.ExactDeviceRequest](), "DerivedAttributes", "derivedAttributes"},
		{reflect.TypeFor[resourcev1.DeviceSubRequest](), "DerivedAttributes", "derivedAttributes"},
	} {
		if at := index(of.in, of.field); at != nil {
			alphaFields[of.in] = append(alphaFields[of.in], alphaField{at, of.name})
		}
	}
}

// AlphaFields returns the names of the fields of alpha features that are off in v1.37, and that a struct sets.
func AlphaFields[T any](of *T) (set []string) {
	for _, f := range alphaFields[reflect.TypeFor[T]()] {
		if reflect.ValueOf(of).Elem().FieldByIndex(f.index).Len() > 0 {
			set = append(set, f.name)
		}
	}
	return set
}
