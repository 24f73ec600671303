package decode_test

import (
	"google.golang.org/protobuf/proto"

	"github.com/stowage-scheduler/stowage/engine/api"
	stowagev1 "github.com/stowage-scheduler/stowage/proto/stowage/v1"
)

func attribute() *stowagev1.DeviceAttribute {
	return &stowagev1.DeviceAttribute{
		Name: "gpu.example.com/model", Kind: stowagev1.DeviceAttributeKind_DEVICE_ATTRIBUTE_KIND_STRING, Value: "h200",
	}
}

func wantAttribute() api.DeviceAttribute {
	return api.DeviceAttribute{Name: "gpu.example.com/model", Kind: api.StringAttribute, Value: "h200"}
}

func deviceSelectors() []*stowagev1.DeviceSelector {
	return []*stowagev1.DeviceSelector{{Expression: "is-gpu"}, {Driver: "gpu.example.com", Attribute: attribute()}}
}

func wantDeviceSelectors() []api.DeviceSelector {
	a := wantAttribute()
	return []api.DeviceSelector{{Expression: "is-gpu"}, {Driver: "gpu.example.com", Attribute: &a}}
}

func deviceRequest() *stowagev1.ExactDeviceRequest {
	return &stowagev1.ExactDeviceRequest{
		DeviceClassName: "gpu", Selectors: deviceSelectors(), All: true, Count: 2, AdminAccess: true,
		Tolerations: []*stowagev1.DeviceToleration{
			{Key: "hot", Exists: true, Effect: stowagev1.DeviceTaintEffect_DEVICE_TAINT_EFFECT_NO_EXECUTE}, {Key: "k", Value: "v"},
		},
		Capacities: []*stowagev1.DeviceCapacityRequest{{Name: "memory", Value: 8000}},
	}
}

func wantDeviceRequest() api.ExactDeviceRequest {
	return api.ExactDeviceRequest{
		DeviceClassName: "gpu", Selectors: wantDeviceSelectors(), All: true, Count: 2, AdminAccess: true,
		Tolerations: []api.DeviceToleration{{Key: "hot", Exists: true, Effect: api.DeviceNoExecute}, {Key: "k", Value: "v"}},
		Capacities:  []api.CapacityRequest{{Name: "memory", Value: 8000}},
	}
}

func resourceClaimSpec() *stowagev1.ResourceClaimSpec {
	return &stowagev1.ResourceClaimSpec{
		Requests: []*stowagev1.DeviceRequest{
			{Name: "all", Exactly: deviceRequest()},
			{Name: "some", FirstAvailable: []*stowagev1.DeviceSubRequest{{Name: "large", Request: deviceRequest()}, {Name: "small"}}},
		},
		Constraints: []*stowagev1.DeviceConstraint{
			{Requests: []string{"all", "some/large"}, Attribute: "gpu.example.com/model", Distinct: true}, {Attribute: "numa.example.com/node"},
		},
	}
}

func wantResourceClaimSpec() *api.ResourceClaimSpec {
	exactly := wantDeviceRequest()
	return &api.ResourceClaimSpec{
		Requests: []api.DeviceRequest{
			{Name: "all", Exactly: &exactly},
			{Name: "some", FirstAvailable: []api.DeviceSubRequest{{Name: "large", Request: exactly}, {Name: "small"}}},
		},
		Constraints: []api.DeviceConstraint{
			{Requests: []string{"all", "some/large"}, Attribute: "gpu.example.com/model", Distinct: true}, {Attribute: "numa.example.com/node"},
		},
	}
}

func podResourceClaims() []*stowagev1.PodResourceClaim {
	return []*stowagev1.PodResourceClaim{{Name: "gpu", ResourceClaimName: "shared"}, {Name: "own", Template: resourceClaimSpec()}}
}

func wantPodResourceClaims() []api.PodResourceClaim {
	return []api.PodResourceClaim{{Name: "gpu", ResourceClaimName: "shared"}, {Name: "own", Template: wantResourceClaimSpec()}}
}

func counters(name string) []*stowagev1.DeviceCounterSet {
	return []*stowagev1.DeviceCounterSet{{Name: name, Counters: []*stowagev1.DeviceCounter{{Name: "slices", Value: 7000}}}}
}

func wantCounters(name string) []api.CounterSet {
	return []api.CounterSet{{Name: name, Counters: []api.Counter{{Name: "slices", Value: 7000}}}}
}

// devices is the objects of the sound request that give devices, in another order than the canonical one.
func devices() *stowagev1.Cluster {
	on := &stowagev1.NodeSelector{Terms: []*stowagev1.NodeSelectorTerm{nodeTerm()}}
	return &stowagev1.Cluster{
		DeviceTypes: []*stowagev1.DeviceType{
			{Name: "plain"},
			{
				Name: "h200", Attributes: []*stowagev1.DeviceAttribute{attribute()}, AllowMultipleAllocations: true,
				Capacities: []*stowagev1.DeviceCapacity{
					{Name: "memory", Value: 80_000, Policy: &stowagev1.DeviceCapacityPolicy{
						DefaultValue: proto.Int64(1000),
						ValidRange:   &stowagev1.DeviceCapacityRange{Min: 1000, Max: proto.Int64(40_000), Step: proto.Int64(500)},
					}},
					{Name: "cores", Value: 8000, Policy: &stowagev1.DeviceCapacityPolicy{
						ValidValues: []*stowagev1.DeviceCapacityValue{{Value: 1000}, {Value: 2000}},
					}},
				},
			},
		},
		DeviceExpressions: []*stowagev1.DeviceExpression{
			{Name: "is-old", CompileError: "undeclared reference"},
			{
				Name: "is-gpu", Text: `device.driver == "gpu.example.com"`, Matches: []string{"h200"}, Mismatches: []string{"plain"},
				Failures: []*stowagev1.DeviceExpressionFailure{{Type: "none", Message: "no such key: model"}},
			},
		},
		DeviceClasses: []*stowagev1.DeviceClass{
			{Name: "plain"},
			{Name: "gpu", Selectors: deviceSelectors(), ExtendedResourceName: "example.com/gpu", CreationTime: 1_790_000_000},
		},
		ResourceSlices: []*stowagev1.ResourceSlice{
			{Name: "shared", Driver: "gpu.example.com", Pool: "fabric", NodeSelector: on, CounterSets: counters("die")},
			{
				Name: "a-gpus", Driver: "gpu.example.com", Pool: "a", Generation: 3, SliceCount: 1, NodeName: "a", AllNodes: true,
				PerDeviceNodeSelection: true,
				Devices: []*stowagev1.Device{
					{
						Name: "gpu-0", Type: "h200", Attributes: []*stowagev1.DeviceAttribute{attribute()}, ConsumesCounters: counters("die"),
						NodeName: "a", AllNodes: true, NodeSelector: on, BindsToNode: true, BindingConditions: []string{"attached"},
						Taints: []*stowagev1.DeviceTaint{
							{Key: "hot", Value: "v", Effect: stowagev1.DeviceTaintEffect_DEVICE_TAINT_EFFECT_NO_SCHEDULE}, {Key: "k"},
						},
					},
					{Name: "gpu-1"},
				},
			},
		},
		ResourceClaims: []*stowagev1.ResourceClaim{
			{
				Namespace: "prod", Name: "shared", Spec: resourceClaimSpec(), Terminating: true, ControllerPod: "web-0", ExtendedResources: true,
				ReservedFor: []string{"web-0"}, BindingFailed: true,
				Allocation: &stowagev1.ResourceClaimAllocation{
					NodeSelector: on,
					Devices: []*stowagev1.DeviceAllocation{
						{
							Request: "all", Driver: "gpu.example.com", Pool: "a", Device: "gpu-0", AdminAccess: true, Shared: true,
							ConsumedCapacity: []*stowagev1.DeviceCapacityRequest{{Name: "memory", Value: 1000}},
						},
						{Driver: "gpu.example.com", Pool: "a", Device: "gpu-1"},
					},
				},
			},
			{Name: "shared"},
		},
	}
}

func wantDevices() api.Devices {
	on := &api.NodeSelector{Terms: []api.NodeSelectorTerm{wantNodeTerm()}}
	return api.Devices{
		Types: []api.DeviceType{
			{
				Name: "h200", Attributes: []api.DeviceAttribute{wantAttribute()}, AllowMultipleAllocations: true,
				Capacities: []api.DeviceCapacity{
					{Name: "memory", Value: 80_000, Policy: &api.CapacityPolicy{
						Default: new(int64(1000)), ValidRange: &api.CapacityRange{Min: 1000, Max: new(int64(40_000)), Step: new(int64(500))},
					}},
					{Name: "cores", Value: 8000, Policy: &api.CapacityPolicy{ValidValues: []api.CapacityValue{{Value: 1000}, {Value: 2000}}}},
				},
			},
			{Name: "plain"},
		},
		Expressions: []api.DeviceExpression{
			{
				Name: "is-gpu", Text: `device.driver == "gpu.example.com"`, Matches: []string{"h200"}, Mismatches: []string{"plain"},
				Failures: []api.ExpressionFailure{{Type: "none", Message: "no such key: model"}},
			},
			{Name: "is-old", CompileError: "undeclared reference"},
		},
		Classes: []api.DeviceClass{
			{Name: "gpu", Selectors: wantDeviceSelectors(), ExtendedResourceName: "example.com/gpu", CreationTime: 1_790_000_000},
			{Name: "plain"},
		},
		Slices: []api.ResourceSlice{
			{
				Name: "a-gpus", Driver: "gpu.example.com", Pool: "a", Generation: 3, SliceCount: 1, NodeName: "a", AllNodes: true,
				PerDeviceNodeSelection: true,
				Devices: []api.Device{
					{
						Name: "gpu-0", Type: "h200", Attributes: []api.DeviceAttribute{wantAttribute()}, ConsumesCounters: wantCounters("die"),
						NodeName: "a", AllNodes: true, NodeSelector: on, BindsToNode: true, BindingConditions: []string{"attached"},
						Taints: []api.DeviceTaint{{Key: "hot", Value: "v", Effect: api.DeviceNoSchedule}, {Key: "k"}},
					},
					{Name: "gpu-1"},
				},
			},
			{Name: "shared", Driver: "gpu.example.com", Pool: "fabric", NodeSelector: on, CounterSets: wantCounters("die")},
		},
		Claims: []api.ResourceClaim{
			{Namespace: "default", Name: "shared"},
			{
				Namespace: "prod", Name: "shared", Spec: *wantResourceClaimSpec(), Terminating: true, ControllerPod: "web-0",
				ExtendedResources: true, ReservedFor: []string{"web-0"}, BindingFailed: true,
				Allocation: &api.ClaimAllocation{
					NodeSelector: on,
					Devices: []api.DeviceAllocation{
						{
							Request: "all", Driver: "gpu.example.com", Pool: "a", Device: "gpu-0", AdminAccess: true, Shared: true,
							ConsumedCapacity: []api.CapacityRequest{{Name: "memory", Value: 1000}},
						},
						{Driver: "gpu.example.com", Pool: "a", Device: "gpu-1"},
					},
				},
			},
		},
	}
}
