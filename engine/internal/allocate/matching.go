package allocate

import "github.com/stowage-scheduler/stowage/engine/api"

// Matching returns the ids of the devices on a node that all selectors of a class match; nil if one of the selectors fails. Unlike a search,
// it reads slices of all generations, of incomplete and invalid pools (noderesources/resource_allocation.go calculateDRAResourceTotals, v1.37).
func (v *Inventory) Matching(class *api.DeviceClass, by Classes, n *Node) (ids []int32) {
	r := newRequest(&Claim{}, "", "", &api.ExactDeviceRequest{DeviceClassName: class.Name}, by)
	add := func(s *api.ResourceSlice) bool {
		everywhere := s.NodeName == "" && !s.AllNodes && s.NodeSelector == nil
		if !s.PerDeviceNodeSelection && !everywhere && !n.has(s.NodeName, s.AllNodes, s.NodeSelector) {
			return true
		}
		pool := &Pool{Driver: s.Driver, Name: s.Pool}
		for i := range s.Devices {
			d := &Device{Device: &s.Devices[i], typ: v.typeOf(s.Devices[i].Type), slice: s, pool: pool}
			if s.PerDeviceNodeSelection && !n.has(d.NodeName, d.AllNodes, d.NodeSelector) {
				continue
			}
			matches, err := r.matches(d)
			if err != nil {
				return false
			}
			if matches {
				ids = append(ids, v.ids[d.Name()])
			}
		}
		return true
	}
	for _, s := range v.slices[n.Name] {
		if !add(s) {
			return nil
		}
	}
	for _, m := range v.mixed {
		for _, s := range m.slices {
			if !add(s) {
				return nil
			}
		}
	}
	return ids
}
