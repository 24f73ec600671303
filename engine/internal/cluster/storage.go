package cluster

import (
	"cmp"
	"encoding/binary"
	"maps"
	"slices"
	"strings"

	"github.com/stowage-scheduler/stowage/engine/api"
	"github.com/stowage-scheduler/stowage/engine/internal/pagedmap"
)

// Storage is the storage objects of a cluster, by what rules look them up by. It is immutable. A derived one shares what did not change.
type Storage struct {
	classes map[string]*api.StorageClass
	drivers map[string]*api.CSIDriver
	// capacities are by class, ascending by namespace and name.
	capacities map[string][]*api.StorageCapacity
	volumes    pagedmap.Map[string, *api.PersistentVolume]
	claims     pagedmap.Map[ClaimName, *api.PersistentVolumeClaim]
	// free are the volumes without a claim, by class: the smallest first, of equal ones the one with the lowest name.
	free map[string][]*api.PersistentVolume
	// reserved are the volumes with a claim, by the claim that they name.
	reserved pagedmap.Map[ClaimName, []*api.PersistentVolume]
	// selectors are the node selectors of volumes, by their key.
	selectors pagedmap.Map[string, selectorUse]
	// described is the memory of the objects.
	described int64
}

// ClaimName identifies a claim. The claim of a pod without a name has none.
type ClaimName = api.ObjectName

// selectorUse is a selector and the number of its uses.
type selectorUse struct {
	*api.NodeSelector
	uses int
}

var noStorage = new(Storage)

// newStorage compiles storage objects, which must not change afterwards.
func newStorage(objects api.Storage) *Storage {
	if objects.Len() == 0 {
		return noStorage
	}
	return noStorage.with(&api.StorageChange{Set: objects})
}

// with returns the storage with a change, which must not change afterwards, except that equal node selectors become one.
func (s *Storage) with(change *api.StorageChange) *Storage {
	next := &Storage{
		classes: s.classes, drivers: s.drivers, capacities: s.capacities, volumes: s.volumes.Derive(), claims: s.claims.Derive(),
		free: s.free, reserved: s.reserved.Derive(), selectors: s.selectors.Derive(), described: s.described,
	}
	set, removed := &change.Set, &change.Removed
	next.classes = changed(s.classes, set.Classes, removed.Classes, func(c *api.StorageClass) string { return c.Name })
	next.drivers = changed(s.drivers, set.Drivers, removed.Drivers, func(d *api.CSIDriver) string { return d.Name })
	next.changeCapacities(set.Capacities, removed.Capacities)
	next.changeVolumes(set.Volumes, removed.Volumes)
	next.claims.Grow(len(set.Claims))
	for _, name := range removed.Claims {
		next.described -= claimBytes(next.claims.Get(name))
		next.claims.Delete(name)
	}
	for i := range set.Claims {
		c := &set.Claims[i]
		name := ClaimName{Namespace: c.Namespace, Name: c.Name}
		next.described += claimBytes(c) - claimBytes(next.claims.Get(name))
		next.claims.Set(name, c)
	}
	return next
}

// changed returns a map of few objects with a change.
func changed[T any](of map[string]*T, set []T, removed []string, name func(*T) string) map[string]*T {
	if len(set)+len(removed) == 0 {
		return of
	}
	out := make(map[string]*T, len(of)+len(set))
	maps.Copy(out, of)
	for _, name := range removed {
		delete(out, name)
	}
	for i := range set {
		out[name(&set[i])] = &set[i]
	}
	return out
}

func nameOfCapacity(c *api.StorageCapacity) api.ObjectName {
	return api.ObjectName{Namespace: c.Namespace, Name: c.Name}
}

// changeCapacities reads all capacities: a cluster has some for each class and topology.
func (s *Storage) changeCapacities(set []api.StorageCapacity, removed []api.ObjectName) {
	if len(set)+len(removed) == 0 {
		return
	}
	gone := make(map[api.ObjectName]bool, len(set)+len(removed))
	for _, name := range removed {
		gone[name] = true
	}
	for i := range set {
		gone[nameOfCapacity(&set[i])] = true
	}
	next := make(map[string][]*api.StorageCapacity, len(s.capacities))
	for class, list := range s.capacities {
		list = slices.DeleteFunc(slices.Clone(list), func(c *api.StorageCapacity) bool {
			leaves := gone[nameOfCapacity(c)]
			if leaves {
				s.described -= capacityBytes(c)
			}
			return leaves
		})
		if len(list) > 0 {
			next[class] = list
		}
	}
	touched := make(map[string]bool)
	for i := range set {
		class := set[i].StorageClassName
		next[class], touched[class] = append(next[class], &set[i]), true
		s.described += capacityBytes(&set[i])
	}
	for class := range touched {
		slices.SortFunc(next[class], func(a, b *api.StorageCapacity) int {
			return cmp.Or(strings.Compare(a.Namespace, b.Namespace), strings.Compare(a.Name, b.Name))
		})
	}
	s.capacities = next
}

// changeVolumes removes and sets volumes, in the indexes, too.
func (s *Storage) changeVolumes(set []api.PersistentVolume, removed []string) {
	if len(set)+len(removed) == 0 {
		return
	}
	var come, gone []*api.PersistentVolume
	leave := func(name string) {
		v := s.volumes.Get(name)
		if v == nil {
			return
		}
		gone = append(gone, v)
		s.described -= volumeBytes(v)
		s.release(v.NodeAffinity)
		s.release(v.MigratedNodeAffinity)
		if v.Claim != nil {
			of := claimOf(v)
			if rest := slices.DeleteFunc(slices.Clone(s.reserved.Get(of)), func(o *api.PersistentVolume) bool { return o == v }); len(rest) > 0 {
				s.reserved.Set(of, rest)
			} else {
				s.reserved.Delete(of)
			}
		}
	}
	s.volumes.Grow(len(set))
	for _, name := range removed {
		leave(name)
		s.volumes.Delete(name)
	}
	for i := range set {
		v := &set[i]
		leave(v.Name)
		s.volumes.Set(v.Name, v)
		come = append(come, v)
		s.described += volumeBytes(v)
		s.unify(&v.NodeAffinity)
		s.unify(&v.MigratedNodeAffinity)
		if v.Claim != nil {
			s.reserved.Set(claimOf(v), append(slices.Clip(s.reserved.Get(claimOf(v))), v))
		}
	}
	s.changeFree(come, gone)
}

func claimOf(v *api.PersistentVolume) ClaimName {
	return ClaimName{Namespace: v.Claim.Namespace, Name: v.Claim.Name}
}

// changeFree changes the lists of free volumes: one by one if few of a class change.
func (s *Storage) changeFree(come, gone []*api.PersistentVolume) {
	order := func(a, b *api.PersistentVolume) int {
		return cmp.Or(cmp.Compare(a.Capacity, b.Capacity), strings.Compare(a.Name, b.Name))
	}
	byClass := func(list []*api.PersistentVolume) map[string][]*api.PersistentVolume {
		out := make(map[string][]*api.PersistentVolume)
		for _, v := range list {
			if v.Claim == nil && v.Available && !v.Terminating {
				out[v.StorageClassName] = append(out[v.StorageClassName], v)
			}
		}
		return out
	}
	comes, goes := byClass(come), byClass(gone)
	if len(comes)+len(goes) == 0 {
		return
	}
	s.free = maps.Clone(s.free)
	if s.free == nil {
		s.free = make(map[string][]*api.PersistentVolume)
	}
	for class, list := range goes {
		left := make(map[*api.PersistentVolume]bool, len(list))
		for _, v := range list {
			left[v] = true
		}
		s.free[class] = slices.DeleteFunc(slices.Clone(s.free[class]), func(v *api.PersistentVolume) bool { return left[v] })
	}
	for class, list := range comes {
		slices.SortFunc(list, order)
		merged, rest := make([]*api.PersistentVolume, 0, len(list)+len(s.free[class])), s.free[class]
		for _, v := range list {
			at, _ := slices.BinarySearchFunc(rest, v, order)
			merged, rest = append(append(merged, rest[:at]...), v), rest[at:]
		}
		s.free[class] = append(merged, rest...)
	}
}

// unify replaces a selector by the first of equal ones. It writes nothing to volumes that a base has: these are unified.
func (s *Storage) unify(of **api.NodeSelector) {
	if *of == nil {
		return
	}
	key := string(appendSelector(nil, *of))
	use := s.selectors.Get(key)
	if use.uses++; use.NodeSelector == nil {
		use.NodeSelector = *of
	}
	s.selectors.Set(key, use)
	if *of != use.NodeSelector {
		*of = use.NodeSelector
	}
}

// release counts one use of a selector less.
func (s *Storage) release(of *api.NodeSelector) {
	if of == nil {
		return
	}
	key := string(appendSelector(nil, of))
	use := s.selectors.Get(key)
	if use.uses--; use.uses > 0 {
		s.selectors.Set(key, use)
	} else {
		s.selectors.Delete(key)
	}
}

// appendSelector appends a key of a selector.
func appendSelector(b []byte, s *api.NodeSelector) []byte {
	for i := range s.Terms {
		t := &s.Terms[i]
		b = binary.AppendUvarint(binary.AppendUvarint(b, uint64(len(t.MatchExpressions))), uint64(len(t.MatchFields)))
		for _, list := range [][]api.Requirement{t.MatchExpressions, t.MatchFields} {
			for i := range list {
				b = appendRequirement(b, &list[i])
			}
		}
	}
	return b
}

func appendRequirement(b []byte, r *api.Requirement) []byte {
	return appendTexts(append(appendText(b, r.Key), byte(r.Operator)), r.Values)
}

func appendText(b []byte, s string) []byte {
	return append(binary.AppendUvarint(b, uint64(len(s))), s...)
}

func appendTexts(b []byte, list []string) []byte {
	b = binary.AppendUvarint(b, uint64(len(list)))
	for _, s := range list {
		b = appendText(b, s)
	}
	return b
}

// Class returns a storage class, nil if there is none of that name.
func (s *Storage) Class(name string) *api.StorageClass { return s.classes[name] }

// Driver returns a CSI driver, nil if there is none of that name.
func (s *Storage) Driver(name string) *api.CSIDriver { return s.drivers[name] }

// Volume returns a volume, nil if there is none of that name.
func (s *Storage) Volume(name string) *api.PersistentVolume { return s.volumes.Get(name) }

// Claim returns a claim, nil if there is none of that name.
func (s *Storage) Claim(name ClaimName) *api.PersistentVolumeClaim { return s.claims.Get(name) }

// Storage returns the storage objects.
func (c *Cluster) Storage() *Storage { return c.storage }

// SetStorage sets the storage objects.
func (b *Builder) SetStorage(s api.Storage) { b.c.storage = newStorage(s) }
