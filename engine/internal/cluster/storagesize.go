package cluster

import "github.com/stowage-scheduler/stowage/engine/api"

// bytes estimates the memory. Few objects are counted each time.
func (s *Storage) bytes() int64 {
	if s == nil {
		return 0
	}
	const perSelector = 160 // of a selector with one value; unified
	few, pointers := newSizes(), s.reserved.Len()
	for _, list := range s.free {
		pointers += cap(list)
	}
	for _, list := range s.capacities {
		pointers += cap(list)
	}
	return s.described + few.of(s.classes, s.drivers) + s.volumes.Bytes() + s.claims.Bytes() + s.reserved.Bytes() +
		s.selectors.Bytes() + int64(perSelector*s.selectors.Len()+8*pointers)
}

func capacityBytes(c *api.StorageCapacity) int64 {
	s := newSizes()
	return s.of(c)
}

// volumeBytes estimates the memory of a volume, without its selectors.
func volumeBytes(v *api.PersistentVolume) int64 {
	texts := len(v.Name) + len(v.StorageClassName) + len(v.VolumeAttributesClassName) + len(v.CSIDriver) + len(v.VolumeHandle) + len(v.InTreePlugin)
	for _, l := range v.Labels {
		texts += sizeOf[api.Label]() + len(l.Key) + len(l.Value)
	}
	if v.Claim != nil {
		texts += sizeOf[api.ClaimReference]() + len(v.Claim.Namespace) + len(v.Claim.Name) + len(v.Claim.UID)
	}
	return int64(sizeOf[api.PersistentVolume]() + texts + 5*allocOverhead)
}

// claimBytes estimates the memory of a claim; 0 for none.
func claimBytes(c *api.PersistentVolumeClaim) int64 {
	if c == nil {
		return 0
	}
	texts := len(c.Namespace) + len(c.Name) + len(c.UID) + len(c.VolumeName) + len(c.SelectedNode) + len(c.ControllerPod) +
		len(c.Spec.StorageClassName) + len(c.Spec.VolumeAttributesClassName)
	if c.Spec.Selector != nil {
		s := newSizes()
		texts += int(s.of(c.Spec.Selector))
	}
	return int64(sizeOf[api.PersistentVolumeClaim]() + texts + 6*allocOverhead)
}
