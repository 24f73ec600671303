package cluster

import "github.com/stowage-scheduler/stowage/engine/api"

// Serving is the devices that serve an extended resource, as scores of resources count them
// (noderesources/resource_allocation.go calculateDRAResourceTotals, v1.37).
type Serving struct {
	of     *State
	class  *api.DeviceClass
	onNode [][]int32 // the ids of the devices, by node; nil until needed
}

// noServing are the devices of a node without devices that serve, or where a selector of the class fails.
var noServing = []int32{}

// ServedBy returns the devices that serve an extended resource; nil if no class does.
func (s *State) ServedBy(resource string) *Serving {
	class := s.devices.Serving(resource)
	if class == nil {
		return nil
	}
	d := s.startDevices()
	if d.serving[class.Name] == nil {
		if d.serving == nil {
			d.serving = make(map[string]*Serving)
		}
		d.serving[class.Name] = &Serving{of: s, class: class, onNode: make([][]int32, s.Len())}
	}
	return d.serving[class.Name]
}

// On returns how many devices a node has, and how many of them claims have.
func (d *Serving) On(node uint32) (devices, taken int64) {
	s := d.of
	if d.onNode[node] == nil {
		d.onNode[node] = noServing
		if ids := s.devices.Inventory().Matching(d.class, s.devices.classesOf(), s.deviceNode(node)); ids != nil {
			d.onNode[node] = ids
		}
	}
	for _, id := range d.onNode[node] {
		if devices++; s.devicesOf.taken.Any(id) {
			taken++
		}
	}
	return devices, taken
}
