package scenario

import resourcev1 "k8s.io/api/resource/v1"

// Devices is the objects of devices of a case.
type Devices struct {
	ResourceSlices         []*resourcev1.ResourceSlice         `json:"resourceSlices,omitempty"`
	DeviceClasses          []*resourcev1.DeviceClass           `json:"deviceClasses,omitempty"`
	ResourceClaims         []*resourcev1.ResourceClaim         `json:"resourceClaims,omitempty"`
	ResourceClaimTemplates []*resourcev1.ResourceClaimTemplate `json:"resourceClaimTemplates,omitempty"`
	DeviceTaintRules       []*resourcev1.DeviceTaintRule       `json:"deviceTaintRules,omitempty"`
}
