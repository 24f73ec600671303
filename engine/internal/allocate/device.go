package allocate

import (
	"strings"

	"github.com/stowage-scheduler/stowage/engine/api"
)

// attribute returns an attribute of a device by its full name, or by its name in the domain of the driver; nil if there is none
// (allocator_incubating.go lookupAttribute, v0.37).
func (d *Device) attribute(name string) *api.DeviceAttribute {
	if a := d.exactly(name); a != nil {
		return a
	}
	domain, bare, found := strings.Cut(name, "/")
	if !found || domain != d.pool.Driver {
		return nil
	}
	return d.exactly(bare)
}

func (d *Device) exactly(name string) *api.DeviceAttribute {
	for _, list := range [][]api.DeviceAttribute{d.Attributes, d.typ.Attributes} {
		for i := range list {
			if list[i].Name == name {
				return &list[i]
			}
		}
	}
	return nil
}

// tainted returns a taint that keeps a device from a request, nil if there is none.
func (d *Device) tainted(r *request) *api.DeviceTaint {
	for i := range d.Taints {
		if t := &d.Taints[i]; t.Effect != api.NoDeviceEffect && !tolerated(t, r.Tolerations) {
			return t
		}
	}
	return nil
}

// tolerated is devicetoleration.go ToleratesTaint for several tolerations (v0.37).
func tolerated(t *api.DeviceTaint, by []api.DeviceToleration) bool {
	for i := range by {
		o := &by[i]
		if (o.Effect == api.NoDeviceEffect || o.Effect == t.Effect) && (o.Key == "" || o.Key == t.Key) && (o.Exists || o.Value == t.Value) {
			return true
		}
	}
	return false
}

// On returns the node that the device is on, empty if several nodes may have it, and their selector, nil for all.
func (d *Device) On() (node string, by *api.NodeSelector) {
	if d.slice.PerDeviceNodeSelection {
		return d.NodeName, d.NodeSelector
	}
	return d.slice.NodeName, d.slice.NodeSelector
}
