package live

import (
	"cmp"

	stowagev1 "github.com/stowage-scheduler/stowage/proto/stowage/v1"
)

// deviceObjects are the parts of a model that devices consist of.
type deviceObjects struct {
	deviceTypes    partOf[string, *stowagev1.DeviceType]
	expressions    partOf[string, *stowagev1.DeviceExpression]
	deviceClasses  partOf[string, *stowagev1.DeviceClass]
	slices         partOf[string, *stowagev1.ResourceSlice]
	resourceClaims partOf[objectKey, *stowagev1.ResourceClaim]
}

func newDeviceObjects() deviceObjects {
	return deviceObjects{
		deviceTypes: partOf[string, *stowagev1.DeviceType]{newTable[string, *stowagev1.DeviceType](),
			"device_types", cmp.Compare[string], byName("DeviceType"),
			func(c *stowagev1.Cluster) *[]*stowagev1.DeviceType { return &c.DeviceTypes },
			func(d *stowagev1.ClusterDelta, set, gone []*stowagev1.DeviceType) {
				d.DeviceTypes, d.RemovedDeviceTypes = set, namesOf(gone)
			}},
		expressions: partOf[string, *stowagev1.DeviceExpression]{newTable[string, *stowagev1.DeviceExpression](),
			"device_expressions", cmp.Compare[string], byName("DeviceExpression"),
			func(c *stowagev1.Cluster) *[]*stowagev1.DeviceExpression { return &c.DeviceExpressions },
			func(d *stowagev1.ClusterDelta, set, gone []*stowagev1.DeviceExpression) {
				d.DeviceExpressions, d.RemovedDeviceExpressions = set, namesOf(gone)
			}},
		deviceClasses: partOf[string, *stowagev1.DeviceClass]{newTable[string, *stowagev1.DeviceClass](),
			"device_classes", cmp.Compare[string], byName("DeviceClass"),
			func(c *stowagev1.Cluster) *[]*stowagev1.DeviceClass { return &c.DeviceClasses },
			func(d *stowagev1.ClusterDelta, set, gone []*stowagev1.DeviceClass) {
				d.DeviceClasses, d.RemovedDeviceClasses = set, namesOf(gone)
			}},
		slices: partOf[string, *stowagev1.ResourceSlice]{newTable[string, *stowagev1.ResourceSlice](),
			"resource_slices", cmp.Compare[string], byName("ResourceSlice"),
			func(c *stowagev1.Cluster) *[]*stowagev1.ResourceSlice { return &c.ResourceSlices },
			func(d *stowagev1.ClusterDelta, set, gone []*stowagev1.ResourceSlice) {
				d.ResourceSlices, d.RemovedResourceSlices = set, namesOf(gone)
			}},
		resourceClaims: partOf[objectKey, *stowagev1.ResourceClaim]{newTable[objectKey, *stowagev1.ResourceClaim](),
			"resource_claims", compareKeys, keyed("ResourceClaim"),
			func(c *stowagev1.Cluster) *[]*stowagev1.ResourceClaim { return &c.ResourceClaims },
			func(d *stowagev1.ClusterDelta, set, gone []*stowagev1.ResourceClaim) {
				d.ResourceClaims, d.RemovedResourceClaims = set, keysOf(gone)
			}},
	}
}
