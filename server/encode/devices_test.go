package encode_test

import (
	"github.com/stowage-scheduler/stowage/engine/api"
	"github.com/stowage-scheduler/stowage/engine/verdict"
	stowagev1 "github.com/stowage-scheduler/stowage/proto/stowage/v1"
)

func deviceExplanation() verdict.DeviceExplanation {
	requests := []verdict.DeviceRequestCounts{
		{
			PodClaim: "gpu", Request: "r/s", Class: "k", Requested: 2, Devices: 8, Available: 1, Excluded: []verdict.ExcludedDevices{
				{
					Cause: verdict.DeviceNotSelected, Index: 3, Devices: 4, Selector: &api.DeviceSelector{
						Expression: "e", Driver: "d", Attribute: &api.DeviceAttribute{Name: "a", Kind: api.IntegerAttribute, Value: "1"},
					},
				},
				{Cause: verdict.DeviceTooSmall, Capacity: "memory", Devices: 2},
				{Cause: verdict.DeviceTainted, Taint: api.DeviceTaint{Key: "k", Value: "v", Effect: api.DeviceNoExecute}, Devices: 1},
			},
		},
		{Resource: "example.com/gpu"},
	}
	return verdict.DeviceExplanation{
		Requests: requests,
		Shortages: []verdict.DeviceShortage{{
			Nodes: []uint32{1}, Requests: requests, Incomplete: 1, Invalid: 2,
			Constraints: []verdict.UnmetConstraint{{PodClaim: "gpu", Index: 1, Attribute: "a/b", Distinct: true}},
		}},
		Taken: []verdict.TakenDevice{
			{
				Driver: "d", Pool: "p", Device: "g", Node: 1, Namespace: "n", Claim: "c",
				Pods: []verdict.PodReference{{Name: "u", Node: 1, Count: 1, Template: -1, Queue: -1}},
			},
			{Device: "shared", Node: verdict.NoNode},
		},
		Unusable: []verdict.UnusableClaim{{
			Namespace: "n", Claim: "c", Devices: []api.DeviceAllocation{{Request: "r", Driver: "d", Pool: "p", Device: "g"}}, Nodes: []uint32{2},
		}},
	}
}

func wantDeviceRequests() []*stowagev1.DeviceRequestCounts {
	return []*stowagev1.DeviceRequestCounts{
		{
			PodClaim: "gpu", Request: "r/s", DeviceClassName: "k", Requested: 2, Devices: 8, Available: 1, Excluded: []*stowagev1.ExcludedDevices{
				{
					Reason: stowagev1.DeviceExclusion_DEVICE_EXCLUSION_SELECTOR, SelectorIndex: 3, Devices: 4, Selector: &stowagev1.DeviceSelector{
						Expression: "e", Driver: "d", Attribute: &stowagev1.DeviceAttribute{
							Name: "a", Kind: stowagev1.DeviceAttributeKind_DEVICE_ATTRIBUTE_KIND_INTEGER, Value: "1",
						},
					},
				},
				{Reason: stowagev1.DeviceExclusion_DEVICE_EXCLUSION_TOO_SMALL, Capacity: "memory", Devices: 2},
				{
					Reason: stowagev1.DeviceExclusion_DEVICE_EXCLUSION_TAINT, Devices: 1, Taint: &stowagev1.DeviceTaint{
						Key: "k", Value: "v", Effect: stowagev1.DeviceTaintEffect_DEVICE_TAINT_EFFECT_NO_EXECUTE,
					},
				},
			},
		},
		{ExtendedResource: "example.com/gpu"},
	}
}
