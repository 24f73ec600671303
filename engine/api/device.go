package api

import (
	"cmp"
	"slices"
	"strings"
)

// Devices are the objects of a cluster that give devices to pods. Names are unique in each list, of claims in their namespaces.
type Devices struct {
	Types       []DeviceType
	Expressions []DeviceExpression
	Classes     []DeviceClass
	Slices      []ResourceSlice
	Claims      []ResourceClaim
}

// Len returns the number of objects.
func (d *Devices) Len() int {
	return len(d.Types) + len(d.Expressions) + len(d.Classes) + len(d.Slices) + len(d.Claims)
}

// Sort puts the objects into the order of their names.
func (d *Devices) Sort() {
	slices.SortFunc(d.Types, func(a, b DeviceType) int { return strings.Compare(a.Name, b.Name) })
	slices.SortFunc(d.Expressions, func(a, b DeviceExpression) int { return strings.Compare(a.Name, b.Name) })
	slices.SortFunc(d.Classes, func(a, b DeviceClass) int { return strings.Compare(a.Name, b.Name) })
	slices.SortFunc(d.Slices, func(a, b ResourceSlice) int { return strings.Compare(a.Name, b.Name) })
	slices.SortFunc(d.Claims, func(a, b ResourceClaim) int {
		return cmp.Or(strings.Compare(a.Namespace, b.Namespace), strings.Compare(a.Name, b.Name))
	})
}

// DevicesChange is a change of the objects that give devices to pods.
type DevicesChange struct {
	// Set are new objects, and objects that replace the ones of their names.
	Set Devices
	// Removed are the names of objects to remove. None of them is in Set.
	Removed DeviceNames
}

// DeviceNames are names of objects, by list.
type DeviceNames struct {
	Types, Expressions, Classes, Slices []string
	Claims                              []ObjectName
}

// Len returns the number of names.
func (n *DeviceNames) Len() int {
	return len(n.Types) + len(n.Expressions) + len(n.Classes) + len(n.Slices) + len(n.Claims)
}

// Len returns the number of changes.
func (c *DevicesChange) Len() int { return c.Set.Len() + c.Removed.Len() }

// DeviceType is what devices share.
type DeviceType struct {
	Name                     string
	Attributes               []DeviceAttribute
	Capacities               []DeviceCapacity
	AllowMultipleAllocations bool
}

// DeviceAttribute is an attribute of a device. Attributes have the same value if Kind and Value are equal.
type DeviceAttribute struct {
	Name  string
	Kind  AttributeKind
	Value string
}

// AttributeKind is the kind of an attribute's value.
type AttributeKind uint8

// The kinds. DefaultAttribute is the same as StringAttribute.
const (
	DefaultAttribute AttributeKind = iota
	StringAttribute
	IntegerAttribute
	BooleanAttribute
	VersionAttribute
)

// DeviceCapacity is an amount that a device has, in thousandths as all amounts of devices.
type DeviceCapacity struct {
	Name   string
	Value  int64
	Policy *CapacityPolicy // nil for none
}

// CapacityPolicy is how requests for a capacity are rounded up.
type CapacityPolicy struct {
	Default     *int64
	ValidValues []CapacityValue
	ValidRange  *CapacityRange
}

// CapacityValue is a valid amount.
type CapacityValue struct{ Value int64 }

// CapacityRange is a range of valid amounts.
type CapacityRange struct {
	Min  int64
	Max  *int64
	Step *int64 // at least 1
}

// DeviceExpression is an expression that the caller evaluated for types of devices, which are named.
type DeviceExpression struct {
	Name, Text          string
	Matches, Mismatches []string
	Failures            []ExpressionFailure
	// CompileError is not empty if the expression fails for all types.
	CompileError string
}

// ExpressionFailure is the error of evaluating an expression for a type.
type ExpressionFailure struct{ Type, Message string }

// DeviceSelector is a condition of a device: an expression, or without one a driver and an attribute.
type DeviceSelector struct {
	Expression string
	Driver     string           // empty for any
	Attribute  *DeviceAttribute // nil for none
}

// DeviceClass is a class of devices.
type DeviceClass struct {
	Name                 string
	Selectors            []DeviceSelector
	ExtendedResourceName string
	CreationTime         int64 // in seconds since the epoch
}

// ImplicitExtendedResource precedes the name of a class in the name of the extended resource that the class serves anyway.
const ImplicitExtendedResource = "deviceclass.resource.kubernetes.io/"

// ResourceSlice is a part of a pool of devices.
type ResourceSlice struct {
	Name, Driver, Pool string
	Generation         int64
	SliceCount         int64 // 0 is 1
	// NodeName, AllNodes, NodeSelector and PerDeviceNodeSelection say which nodes have the devices. The first of them counts.
	NodeName               string
	AllNodes               bool
	NodeSelector           *NodeSelector
	PerDeviceNodeSelection bool
	Devices                []Device
	CounterSets            []CounterSet
}

// Device is a device of a slice.
type Device struct {
	Name       string
	Type       string // of DeviceType
	Attributes []DeviceAttribute
	// ConsumesCounters are of the counter sets of the pool.
	ConsumesCounters []CounterSet
	// NodeName, AllNodes and NodeSelector are read if the slice has PerDeviceNodeSelection.
	NodeName          string
	AllNodes          bool
	NodeSelector      *NodeSelector
	Taints            []DeviceTaint
	BindsToNode       bool
	BindingConditions []string
}

// CounterSet is a set of counters of a pool, or what a device consumes of one. Of counters with one name the first counts.
type CounterSet struct {
	Name     string
	Counters []Counter
}

// Counter is an amount of a counter.
type Counter struct {
	Name  string
	Value int64
}

// DeviceTaint is a taint of a device.
type DeviceTaint struct {
	Key, Value string
	Effect     DeviceTaintEffect
}

// DeviceTaintEffect is what a taint of a device does.
type DeviceTaintEffect uint8

// The effects. NoDeviceEffect is no effect of a taint, and all effects of a toleration.
const (
	NoDeviceEffect DeviceTaintEffect = iota
	DeviceNoSchedule
	DeviceNoExecute
)

// DeviceToleration is what a request tolerates.
type DeviceToleration struct {
	Key    string
	Exists bool // otherwise the value must be equal
	Value  string
	Effect DeviceTaintEffect
}

// ResourceClaim is a claim of a namespace.
type ResourceClaim struct {
	Namespace, Name string
	Spec            ResourceClaimSpec
	Allocation      *ClaimAllocation // nil if the claim has no devices yet
	Terminating     bool
	// ControllerPod is the name of the pod that controls the claim, with which it goes.
	ControllerPod string
	// ExtendedResources reports whether the claim is for the extended resources of ControllerPod.
	ExtendedResources bool
	// ReservedFor are the names of the pods that use the claim, and names that no pod has for other consumers.
	ReservedFor []string
	// BindingFailed reports that no node is feasible with the allocation.
	BindingFailed bool
}

// ResourceClaimSpec is the part of a claim that the claims of one template share.
type ResourceClaimSpec struct {
	Requests    []DeviceRequest
	Constraints []DeviceConstraint
}

// DeviceRequest is a request for devices: Exactly, or else the first of FirstAvailable that can be had.
type DeviceRequest struct {
	Name           string
	Exactly        *ExactDeviceRequest
	FirstAvailable []DeviceSubRequest
}

// DeviceSubRequest is one of the requests of a list.
type DeviceSubRequest struct {
	Name    string
	Request ExactDeviceRequest // AdminAccess is not read
}

// ExactDeviceRequest is what devices are requested.
type ExactDeviceRequest struct {
	DeviceClassName string
	Selectors       []DeviceSelector
	All             bool
	Count           int64 // 0 is 1
	AdminAccess     bool
	Tolerations     []DeviceToleration
	Capacities      []CapacityRequest
}

// CapacityRequest is an amount of a capacity that is requested or consumed.
type CapacityRequest struct {
	Name  string
	Value int64
}

// DeviceConstraint relates the devices of a claim.
type DeviceConstraint struct {
	Requests  []string // empty for all
	Attribute string
	Distinct  bool
}

// ClaimAllocation is the devices that a claim has.
type ClaimAllocation struct {
	Devices      []DeviceAllocation
	NodeSelector *NodeSelector // nil for all nodes
}

// DeviceAllocation is a device that a claim has.
type DeviceAllocation struct {
	Request, Driver, Pool, Device string
	AdminAccess                   bool
	// Shared reports whether other claims can have the device, too.
	Shared           bool
	ConsumedCapacity []CapacityRequest
}

// PodResourceClaim is a claim that a pod uses.
type PodResourceClaim struct {
	Name string
	// ResourceClaimName is empty if the claim is created from a template.
	ResourceClaimName string
	// Template is the spec of the claim that is created; nil if it is not known.
	Template *ResourceClaimSpec
}

// PodClaimStatus is the claim that was created for an entry of a pod, with no name if none is needed.
type PodClaimStatus struct{ Name, ResourceClaimName string }
