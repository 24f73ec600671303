package verdict

import "github.com/stowage-scheduler/stowage/engine/api"

// DeviceExplanation is why the claims of a pod have no devices on nodes.
type DeviceExplanation struct {
	// Requests are the counts of all rejected nodes together, each device once; Shortages are the counts by node.
	Requests  []DeviceRequestCounts
	Shortages []DeviceShortage
	// Taken are the devices that the pod could have if no claim had them, or a part of them.
	Taken []TakenDevice
	// Unusable are the claims that have devices already.
	Unusable []UnusableClaim
}

// DeviceCause is why a request cannot have a device.
type DeviceCause uint8

// The causes, in the order in which they are determined: a device counts for the first one.
const (
	DeviceOfOtherClass DeviceCause = iota + 1 // a selector of the class excludes it
	DeviceNotSelected                         // a selector of the request excludes it
	DeviceNotEvaluated                        // the outcome of a selector is an error, or not known
	DeviceTooSmall                            // it lacks a capacity, even if no claim has the device
	DeviceTainted                             // the request does not tolerate a taint
	DeviceTaken                               // a claim has it
	DeviceCapacityUsed                        // claims have too much of it
	DeviceCountersUsed                        // devices of its pool that claims have use up its counters
	DeviceCauseCount   = iota + 1
)

// ExcludedDevices are devices that a request cannot have.
type ExcludedDevices struct {
	Cause DeviceCause
	// Index and Selector are the selector of the class or of the request.
	Index    int
	Selector *api.DeviceSelector
	Taint    api.DeviceTaint
	Capacity string
	Devices  int
}

// DeviceRequestCounts is how many devices a request can have, and why it cannot have the others. Other requests of the pod, constraints and
// the number of requested devices are not considered.
type DeviceRequestCounts struct {
	// PodClaim is the entry of the pod; empty for an extended resource, which is Resource then.
	PodClaim, Resource string
	Request            string // with the sub-request
	Class              string
	Requested          int64 // 0 for all
	Devices, Available int
	Excluded           []ExcludedDevices // by cause, then by the other fields
}

// UnmetConstraint is a constraint of a claim that keeps the claim from devices.
type UnmetConstraint struct {
	PodClaim  string
	Index     int
	Attribute string
	Distinct  bool
}

// DeviceShortage is nodes with equal counts.
type DeviceShortage struct {
	Nodes    []uint32
	Requests []DeviceRequestCounts
	// Constraints are the constraints that keep the nodes from being feasible: each of them alone, or all of them together. There are none
	// if a request lacks devices without them.
	Constraints []UnmetConstraint
	// Incomplete and Invalid are pools that give no devices.
	Incomplete, Invalid int
}

// TakenDevice is a device that a claim has.
type TakenDevice struct {
	Driver, Pool, Device string
	Node                 uint32 // NoNode for a device of several nodes
	Namespace            string
	Claim                string // empty for a claim that is created for a pod of the queue
	Pods                 []PodReference
}

// UnusableClaim is a claim of the pod whose devices other nodes have.
type UnusableClaim struct {
	Namespace, Claim string
	Devices          []api.DeviceAllocation
	Nodes            []uint32
}
