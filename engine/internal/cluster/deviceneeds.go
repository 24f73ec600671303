package cluster

import (
	"math"
	"slices"

	"github.com/stowage-scheduler/stowage/engine/api"
	"github.com/stowage-scheduler/stowage/engine/internal/allocate"
)

// DeviceNeeds is what a pod needs of devices on any node, as long as no pod leaves.
type DeviceNeeds struct {
	// Final reports whether a node without devices for the pod stays without. Otherwise other pods may allocate the pod's claims, or take a
	// device whose evaluation fails.
	Final  bool
	Counts []DeviceCount
}

// DeviceCount is how many devices that meet some conditions a pod needs at least, and how many there are at most, by node.
type DeviceCount struct {
	Key     string
	Devices int64
	Free    []int64
}

// manyDevices is more devices than pods need.
const manyDevices = math.MaxInt32

// DeviceNeeds returns what a pod needs of devices; nil for nothing. There are no counts if nodes share devices.
func (s *State) DeviceNeeds(p *Pending) *DeviceNeeds {
	d := s.DemandOf(p)
	if d == nil {
		return nil
	}
	out := &DeviceNeeds{}
	if d.Rejection != "" || d.Left != nil {
		out.Final = true
		return out
	}
	named := slices.ContainsFunc(d.Claims, func(c DeviceClaim) bool { return c.Object != nil })
	if mixed := s.devices.Inventory().Mixed(); named || mixed {
		return out
	}
	a := s.AllocationOf(p)
	out.Final = len(a.Errors) == 0 && a.Undecided.Empty()
	var served []string
	for _, q := range d.Extended {
		if s.devices.Serving(q.Resource) != nil {
			served = append(served, q.Resource)
		}
	}
	claims := make([]allocate.Claim, len(d.Claims))
	for i := range d.Claims {
		claims[i] = allocate.Claim{Spec: d.Claims[i].Spec}
	}
	counts := allocate.NewProblem(claims, s.devices.classesOf()).Counts()
	for i := range counts {
		out.Counts = append(out.Counts, DeviceCount{counts[i].Key, counts[i].Devices, s.freeFor(&counts[i], "")})
	}
	for _, resource := range served {
		request := api.DeviceRequest{Name: resource, Exactly: &api.ExactDeviceRequest{DeviceClassName: s.devices.Serving(resource).Name}}
		for i := range d.spec.Containers { // init containers use the devices of others
			amount, _ := d.spec.Containers[i].Requests.Get(resource)
			request.Exactly.Count += amount
		}
		if request.Exactly.Count == 0 {
			continue
		}
		of := allocate.NewProblem([]allocate.Claim{{Spec: &api.ResourceClaimSpec{Requests: []api.DeviceRequest{request}}}}, s.devices.classesOf()).Counts()
		out.Counts = append(out.Counts, DeviceCount{resource + "\x00" + of[0].Key, of[0].Devices, s.freeFor(&of[0], resource)})
	}
	return out
}

// freeFor returns how many devices meet conditions, by node: many if the node has an extended resource, from which the devices are not
// taken.
func (s *State) freeFor(c *allocate.Count, resource string) []int64 {
	of, out := s.startDevices(), make([]int64, s.Len())
	for node := range out {
		if node%256 == 0 && s.Ended() {
			break
		}
		if column := s.Resources.Scalars[resource]; resource != "" {
			if at, found := column.Find(uint32(node)); found && column.Values[at].Allocatable > 0 {
				out[node] = manyDevices
				continue
			}
		}
		pools, _ := of.finder.Pools(s.deviceNode(uint32(node)))
		out[node] = c.Free(pools, of.taken, manyDevices)
	}
	return out
}
