package cluster

import (
	"cmp"
	"slices"
	"strings"
	"sync/atomic"

	"github.com/stowage-scheduler/stowage/engine/api"
	"github.com/stowage-scheduler/stowage/engine/internal/allocate"
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
	// arrivals is how many pods without names have claims, by the largest of their numbers.
	arrivals int

	inventory *once[*allocate.Inventory]
	// base is the inventory without the last slices, which are in more; nil if it was not computed, or if they are not all that changed
	// since.
	base      *allocate.Inventory
	more      []*api.ResourceSlice
	evaluated *once[map[string]*allocate.Expression]
	served    *once[map[string]*api.DeviceClass] // by the name of the extended resource
	taken     *once[*claimed]
	names     *once[map[string]bool]
}

// once is a value that is computed when it is needed first. If several requests need it at once, each computes it, and the first one stays.
type once[T any] struct{ value atomic.Pointer[T] }

func (o *once[T]) get(compute func() T) T {
	if of := o.value.Load(); of != nil {
		return *of
	}
	o.value.CompareAndSwap(nil, new(compute()))
	return *o.value.Load()
}

// claimed is what the claims of the cluster have.
type claimed struct {
	*allocate.Taken
	// ofPods are the claims that go with a pod, or that it has reserved, by the name of the pod.
	ofPods map[ClaimName][]*api.ResourceClaim
}

var noDevices = newDevicesWithout()

func newDevicesWithout() *Devices {
	return &Devices{
		inventory: new(once[*allocate.Inventory]), evaluated: new(once[map[string]*allocate.Expression]),
		served: new(once[map[string]*api.DeviceClass]), taken: new(once[*claimed]), names: new(once[map[string]bool]),
	}
}

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
	next := newDevicesWithout()
	next.slices, next.claims, next.described, next.arrivals = d.slices.Derive(), d.claims.Derive(), d.described, d.arrivals
	next.types = changed(d.types, set.Types, removed.Types, func(t *api.DeviceType) string { return t.Name })
	next.expressions = changed(d.expressions, set.Expressions, removed.Expressions, func(e *api.DeviceExpression) string { return e.Name })
	next.classes = changed(d.classes, set.Classes, removed.Classes, func(c *api.DeviceClass) string { return c.Name })
	next.described += changeMany(&next.slices, set.Slices, removed.Slices, func(s *api.ResourceSlice) string { return s.Name })
	next.described += changeMany(&next.claims, set.Claims, removed.Claims, nameOfClaim)
	if len(set.Types)+len(set.Slices)+len(removed.Types)+len(removed.Slices) == 0 {
		next.inventory, next.base, next.more = d.inventory, d.base, d.more
		if len(set.Claims)+len(removed.Claims) == 0 {
			next.taken = d.taken
		}
	}
	if known := d.inventory.value.Load(); known != nil && len(set.Types)+len(removed.Types)+len(removed.Slices) == 0 && len(set.Slices) > 0 {
		next.base = *known
		for i := range set.Slices {
			if next.more = append(next.more, &set.Slices[i]); d.slices.Get(set.Slices[i].Name) != nil {
				next.base = nil
			}
		}
	}
	if len(set.Expressions)+len(removed.Expressions) == 0 {
		next.evaluated = d.evaluated
	}
	if len(set.Classes)+len(removed.Classes) == 0 {
		next.served = d.served
	}
	return next
}

func nameOfClaim(c *api.ResourceClaim) ClaimName {
	return ClaimName{Namespace: c.Namespace, Name: c.Name}
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

// bytes estimates the memory, with what is computed when it is needed. Few objects are counted each time.
func (d *Devices) bytes() int64 {
	if d == nil {
		return 0
	}
	const compiled = 2 // times what the objects take
	few := newSizes()
	return compiled*d.described + few.of(d.types, d.expressions, d.classes) + d.slices.Bytes() + d.claims.Bytes()
}

// SetDevices sets the objects that give devices.
func (b *Builder) SetDevices(d api.Devices) { b.c.devices = newDevices(d) }

// Devices returns the objects that give devices.
func (c *Cluster) Devices() *Devices { return c.devices }

// Inventory returns the compiled devices.
func (d *Devices) Inventory() *allocate.Inventory {
	return d.inventory.get(func() *allocate.Inventory {
		if d.base != nil {
			more := slices.SortedFunc(slices.Values(d.more), byName)
			if v, ok := d.base.With(more); ok {
				return v
			}
		}
		types := make([]*api.DeviceType, 0, len(d.types))
		for _, t := range d.types {
			types = append(types, t)
		}
		slices.SortFunc(types, func(a, b *api.DeviceType) int { return strings.Compare(a.Name, b.Name) })
		list := make([]*api.ResourceSlice, 0, d.slices.Len())
		for _, s := range d.slices.All {
			list = append(list, s)
		}
		slices.SortFunc(list, byName)
		return allocate.NewInventory(types, list)
	})
}

func byName(a, b *api.ResourceSlice) int { return strings.Compare(a.Name, b.Name) }

// Known reports whether slices or claims have devices of a node with this name, or of pools that are named after it.
func (d *Devices) Known(node string) bool {
	return d.names.get(func() map[string]bool {
		names := make(map[string]bool)
		add := func(pool string) {
			head, _, _ := strings.Cut(pool, "/")
			names[head] = true
		}
		for _, s := range d.slices.All {
			names[s.NodeName] = true
			add(s.Pool)
		}
		for _, c := range d.claims.All {
			for i := 0; c.Allocation != nil && i < len(c.Allocation.Devices); i++ {
				add(c.Allocation.Devices[i].Pool)
			}
		}
		return names
	})[node]
}

// SlicesFor returns the slices of a new node: copies of the slices of another node, whose pools are named after the new node. A pool with
// the name of the other node gets the name of the new one. The name of the new node precedes other names.
func SlicesFor(to, from string, like []*api.ResourceSlice) []api.ResourceSlice {
	out := make([]api.ResourceSlice, len(like))
	for i, s := range like {
		out[i] = api.ResourceSlice{
			Name: to + "/" + s.Name, Driver: s.Driver, Pool: to, Generation: s.Generation, SliceCount: s.SliceCount, NodeName: to,
			Devices: s.Devices, CounterSets: s.CounterSets,
		}
		if s.Pool != from {
			out[i].Pool += "/" + s.Pool
		}
	}
	return out
}

// withCopy returns the devices with the devices of a new node that is like another one. Devices that nodes share are no node's own.
func (d *Devices) withCopy(to, from string) *Devices {
	if d.slices.Len() == 0 {
		return d
	}
	added := SlicesFor(to, from, d.Inventory().SlicesOf(from))
	if len(added) == 0 {
		return d
	}
	return d.with(&api.DevicesChange{Set: api.Devices{Slices: added}})
}

// classesOf are what requests for devices refer to.
func (d *Devices) classesOf() allocate.Classes {
	expressions := d.evaluated.get(func() map[string]*allocate.Expression {
		out := make(map[string]*allocate.Expression, len(d.expressions))
		for name, e := range d.expressions {
			out[name] = allocate.NewExpression(e)
		}
		return out
	})
	return allocate.Classes{
		Class:      func(name string) *api.DeviceClass { return d.classes[name] },
		Expression: func(name string) *allocate.Expression { return expressions[name] },
	}
}

// Serving returns the class whose devices serve an extended resource, nil if there is none (deviceclass/extendedresourcecache,
// v0.37, of a cluster whose classes were created one after the other).
func (d *Devices) Serving(resource string) *api.DeviceClass {
	if len(d.classes) == 0 {
		return nil
	}
	return d.served.get(func() map[string]*api.DeviceClass {
		out := make(map[string]*api.DeviceClass, len(d.classes))
		for name, c := range d.classes {
			out[api.ImplicitExtendedResource+name] = c
		}
		for _, c := range d.classes {
			if c.ExtendedResourceName == "" {
				continue
			}
			other := out[c.ExtendedResourceName]
			newer := other == nil || cmp.Or(cmp.Compare(c.CreationTime, other.CreationTime), -strings.Compare(c.Name, other.Name)) > 0
			if newer {
				out[c.ExtendedResourceName] = c
			}
		}
		return out
	})[resource]
}

// claimed returns what the claims have.
func (d *Devices) claimed() *claimed {
	return d.taken.get(func() *claimed {
		v := d.Inventory()
		out := &claimed{allocate.NewTaken(v), make(map[ClaimName][]*api.ResourceClaim)}
		for _, c := range d.claims.All {
			if c.ControllerPod != "" {
				pod := ClaimName{Namespace: c.Namespace, Name: c.ControllerPod}
				out.ofPods[pod] = append(out.ofPods[pod], c)
			}
			if c.Allocation == nil {
				continue
			}
			for _, name := range c.ReservedFor {
				if pod := (ClaimName{Namespace: c.Namespace, Name: name}); name != c.ControllerPod {
					out.ofPods[pod] = append(out.ofPods[pod], c)
				}
			}
			for i := range c.Allocation.Devices {
				a := &c.Allocation.Devices[i]
				if id, found := v.Find(allocate.DeviceName{Driver: a.Driver, Pool: a.Pool, Device: a.Device}); found {
					out.Take(id, a)
				}
			}
		}
		for pod := range out.ofPods {
			slices.SortFunc(out.ofPods[pod], func(a, b *api.ResourceClaim) int { return strings.Compare(a.Name, b.Name) })
		}
		return out
	})
}
