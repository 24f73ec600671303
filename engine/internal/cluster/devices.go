package cluster

import (
	"github.com/stowage-scheduler/stowage/engine/api"
	"github.com/stowage-scheduler/stowage/engine/internal/pagedmap"
)

// Devices is the objects that give devices to pods, by what rules look them up by. It is immutable. A derived one shares what did not
// change.
type Devices struct {
	types       map[string]*api.DeviceType
	expressions map[string]*api.DeviceExpression
	classes     map[string]*api.DeviceClass
	slices      pagedmap.Map[string, *api.ResourceSlice]
	claims      pagedmap.Map[ClaimName, *api.ResourceClaim]
	// described is the memory of slices and claims.
	described int64
}

var noDevices = new(Devices)

// newDevices compiles objects, which must not change afterwards.
func newDevices(objects api.Devices) *Devices {
	if objects.Len() == 0 {
		return noDevices
	}
	return noDevices.with(&api.DevicesChange{Set: objects})
}

// with returns the devices with a change, which must not change afterwards.
func (d *Devices) with(change *api.DevicesChange) *Devices {
	set, removed := &change.Set, &change.Removed
	next := &Devices{slices: d.slices.Derive(), claims: d.claims.Derive(), described: d.described}
	next.types = changed(d.types, set.Types, removed.Types, func(t *api.DeviceType) string { return t.Name })
	next.expressions = changed(d.expressions, set.Expressions, removed.Expressions, func(e *api.DeviceExpression) string { return e.Name })
	next.classes = changed(d.classes, set.Classes, removed.Classes, func(c *api.DeviceClass) string { return c.Name })
	nameOfSlice := func(s *api.ResourceSlice) string { return s.Name }
	nameOfClaim := func(c *api.ResourceClaim) ClaimName { return ClaimName{Namespace: c.Namespace, Name: c.Name} }
	next.described += changeMany(&next.slices, set.Slices, removed.Slices, nameOfSlice)
	next.described += changeMany(&next.claims, set.Claims, removed.Claims, nameOfClaim)
	return next
}

// changeMany changes a map of many objects, and returns by how much their memory grows.
func changeMany[K comparable, T any](of *pagedmap.Map[K, *T], set []T, removed []K, name func(*T) K) (bytes int64) {
	sizeOf := func(object *T) int64 {
		if object == nil {
			return 0
		}
		s := newSizes()
		return s.of(object)
	}
	of.Grow(len(set))
	for _, key := range removed {
		bytes -= sizeOf(of.Get(key))
		of.Delete(key)
	}
	for i := range set {
		key := name(&set[i])
		bytes += sizeOf(&set[i]) - sizeOf(of.Get(key))
		of.Set(key, &set[i])
	}
	return bytes
}

// bytes estimates the memory. Few objects are counted each time.
func (d *Devices) bytes() int64 {
	if d == nil {
		return 0
	}
	few := newSizes()
	return d.described + few.of(d.types, d.expressions, d.classes) + d.slices.Bytes() + d.claims.Bytes()
}

// Devices returns the objects that give devices.
func (c *Cluster) Devices() *Devices { return c.devices }

// SetDevices sets the objects that give devices.
func (b *Builder) SetDevices(d api.Devices) { b.c.devices = newDevices(d) }
