package decode

import (
	"github.com/stowage-scheduler/stowage/engine/api"
	"github.com/stowage-scheduler/stowage/proto/content"
)

// storageItems are the readers of the lists of storage objects.
var storageItems = [content.Lists]func(*reader, *path, *scan) addItem{
	content.StorageClasses: storageItem((*reader).storageClass,
		func(s *api.Storage) *[]api.StorageClass { return &s.Classes },
		func(c *api.StorageClass) itemName { return itemName{name: c.Name} }),
	content.CSIDrivers: storageItem((*reader).csiDriver,
		func(s *api.Storage) *[]api.CSIDriver { return &s.Drivers },
		func(d *api.CSIDriver) itemName { return itemName{name: d.Name} }),
	content.CSIStorageCapacities: storageItem((*reader).csiStorageCapacity,
		func(s *api.Storage) *[]api.StorageCapacity { return &s.Capacities },
		func(c *api.StorageCapacity) itemName { return itemName{namespace: c.Namespace, name: c.Name} }),
	content.PersistentVolumes: storageItem((*reader).persistentVolume,
		func(s *api.Storage) *[]api.PersistentVolume { return &s.Volumes },
		func(v *api.PersistentVolume) itemName { return itemName{name: v.Name} }),
	content.PersistentVolumeClaims: storageItem((*reader).persistentVolumeClaim,
		func(s *api.Storage) *[]api.PersistentVolumeClaim { return &s.Claims },
		func(c *api.PersistentVolumeClaim) itemName { return itemName{namespace: c.Namespace, name: c.Name} }),
}

// storageItem returns the reader of a list of storage objects.
func storageItem[T any](
	message func(*reader, *path, *scan) T, list func(*api.Storage) *[]T, name func(*T) itemName,
) func(*reader, *path, *scan) addItem {
	return func(r *reader, at *path, in *scan) addItem {
		object := message(r, at, in)
		return func(d *decoder, at *path, item *readItem) {
			id, scope := name(&object), ""
			if id.namespace != "" {
				scope = " per namespace"
			}
			d.once(at, item, id, scope)
			to := list(&d.storage)
			*to = append(*to, object)
		}
	}
}
