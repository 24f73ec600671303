package decode

import (
	"github.com/stowage-scheduler/stowage/engine/api"
	"github.com/stowage-scheduler/stowage/proto/content"
)

// objectItems are the readers of the lists of objects, of storage and of devices.
var objectItems = [content.Lists]func(*reader, *path, *scan) addItem{
	content.StorageClasses: objectItem((*reader).storageClass,
		func(d *decoder) *[]api.StorageClass { return &d.storage.Classes },
		func(c *api.StorageClass) itemName { return itemName{name: c.Name} }),
	content.CSIDrivers: objectItem((*reader).csiDriver,
		func(d *decoder) *[]api.CSIDriver { return &d.storage.Drivers },
		func(d *api.CSIDriver) itemName { return itemName{name: d.Name} }),
	content.CSIStorageCapacities: objectItem((*reader).csiStorageCapacity,
		func(d *decoder) *[]api.StorageCapacity { return &d.storage.Capacities },
		func(c *api.StorageCapacity) itemName { return itemName{namespace: c.Namespace, name: c.Name} }),
	content.PersistentVolumes: objectItem((*reader).persistentVolume,
		func(d *decoder) *[]api.PersistentVolume { return &d.storage.Volumes },
		func(v *api.PersistentVolume) itemName { return itemName{name: v.Name} }),
	content.PersistentVolumeClaims: objectItem((*reader).persistentVolumeClaim,
		func(d *decoder) *[]api.PersistentVolumeClaim { return &d.storage.Claims },
		func(c *api.PersistentVolumeClaim) itemName { return itemName{namespace: c.Namespace, name: c.Name} }),

	content.DeviceTypes: objectItem((*reader).deviceType,
		func(d *decoder) *[]api.DeviceType { return &d.devices.Types },
		func(t *api.DeviceType) itemName { return itemName{name: t.Name} }),
	content.DeviceExpressions: objectItem((*reader).deviceExpression,
		func(d *decoder) *[]api.DeviceExpression { return &d.devices.Expressions },
		func(e *api.DeviceExpression) itemName { return itemName{name: e.Name} }),
	content.DeviceClasses: objectItem((*reader).deviceClass,
		func(d *decoder) *[]api.DeviceClass { return &d.devices.Classes },
		func(c *api.DeviceClass) itemName { return itemName{name: c.Name} }),
	content.ResourceSlices: objectItem((*reader).resourceSlice,
		func(d *decoder) *[]api.ResourceSlice { return &d.devices.Slices },
		func(s *api.ResourceSlice) itemName { return itemName{name: s.Name} }),
	content.ResourceClaims: objectItem((*reader).resourceClaim,
		func(d *decoder) *[]api.ResourceClaim { return &d.devices.Claims },
		func(c *api.ResourceClaim) itemName { return itemName{namespace: c.Namespace, name: c.Name} }),
}

// objectItem returns the reader of a list of objects.
func objectItem[T any](
	message func(*reader, *path, *scan) T, list func(*decoder) *[]T, name func(*T) itemName,
) func(*reader, *path, *scan) addItem {
	return func(r *reader, at *path, in *scan) addItem {
		object := message(r, at, in)
		return func(d *decoder, at *path, item *readItem) {
			id, scope := name(&object), ""
			if id.namespace != "" {
				scope = " per namespace"
			}
			d.once(at, item, id, scope)
			to := list(d)
			*to = append(*to, object)
		}
	}
}
