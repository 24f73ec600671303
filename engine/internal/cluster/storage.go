package cluster

import (
	"cmp"
	"encoding/binary"
	"slices"

	"github.com/stowage-scheduler/stowage/engine/api"
)

// Storage is the storage objects of a cluster, by what rules look them up by. It is immutable.
type Storage struct {
	objects    api.Storage
	classes    map[string]*api.StorageClass
	drivers    map[string]*api.CSIDriver
	capacities map[string][]*api.StorageCapacity // by class
	volumes    map[string]*api.PersistentVolume
	claims     map[ClaimName]*api.PersistentVolumeClaim
	// free are the volumes without a claim, by class: the smallest first, of equal ones the one with the lowest name.
	free map[string][]*api.PersistentVolume
	// reserved are the volumes with a claim, by the claim that they name.
	reserved map[ClaimName][]*api.PersistentVolume
}

// ClaimName identifies a claim. The claim of a pod without a name has none.
type ClaimName struct{ Namespace, Name string }

var noStorage = newStorage(api.Storage{})

// newStorage compiles storage objects, which must not change afterwards. Equal node selectors become one.
func newStorage(objects api.Storage) *Storage {
	s := &Storage{
		objects:    objects,
		classes:    make(map[string]*api.StorageClass, len(objects.Classes)),
		drivers:    make(map[string]*api.CSIDriver, len(objects.Drivers)),
		capacities: make(map[string][]*api.StorageCapacity),
		volumes:    make(map[string]*api.PersistentVolume, len(objects.Volumes)),
		claims:     make(map[ClaimName]*api.PersistentVolumeClaim, len(objects.Claims)),
		free:       make(map[string][]*api.PersistentVolume),
		reserved:   make(map[ClaimName][]*api.PersistentVolume),
	}
	for i := range objects.Classes {
		s.classes[objects.Classes[i].Name] = &objects.Classes[i]
	}
	for i := range objects.Drivers {
		s.drivers[objects.Drivers[i].Name] = &objects.Drivers[i]
	}
	for i := range objects.Capacities {
		c := &objects.Capacities[i]
		s.capacities[c.StorageClassName] = append(s.capacities[c.StorageClassName], c)
	}
	selectors := make(map[string]*api.NodeSelector)
	for i := range objects.Volumes {
		v := &objects.Volumes[i]
		unify(selectors, &v.NodeAffinity)
		unify(selectors, &v.MigratedNodeAffinity)
		s.volumes[v.Name] = v
		if v.Claim != nil {
			name := ClaimName{v.Claim.Namespace, v.Claim.Name}
			s.reserved[name] = append(s.reserved[name], v)
		} else if v.Available && !v.Terminating {
			s.free[v.StorageClassName] = append(s.free[v.StorageClassName], v)
		}
	}
	for _, volumes := range s.free {
		slices.SortStableFunc(volumes, func(a, b *api.PersistentVolume) int { return cmp.Compare(a.Capacity, b.Capacity) })
	}
	for i := range objects.Claims {
		c := &objects.Claims[i]
		s.claims[ClaimName{c.Namespace, c.Name}] = c
	}
	return s
}

// unify replaces a selector by the first of equal ones. It writes nothing to volumes that a base has: these are unified.
func unify(known map[string]*api.NodeSelector, s **api.NodeSelector) {
	if *s == nil {
		return
	}
	key := string(appendSelector(nil, *s))
	first := known[key]
	if first == nil {
		known[key] = *s
	} else if first != *s {
		*s = first
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
func (s *Storage) Volume(name string) *api.PersistentVolume { return s.volumes[name] }

// Claim returns a claim, nil if there is none of that name.
func (s *Storage) Claim(name ClaimName) *api.PersistentVolumeClaim { return s.claims[name] }

// Storage returns the storage objects.
func (c *Cluster) Storage() *Storage { return c.storage }

// SetStorage sets the storage objects.
func (b *Builder) SetStorage(s api.Storage) { b.c.storage = newStorage(s) }
