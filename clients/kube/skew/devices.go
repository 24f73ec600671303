package skew

import (
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
