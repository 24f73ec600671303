package fill_test

import (
	"testing"

	corev1 "k8s.io/api/core/v1"

	"github.com/stowage-scheduler/stowage/clients/fill"
	stowagev1 "github.com/stowage-scheduler/stowage/proto/stowage/v1"
)

const gpus = corev1.ResourceName(fill.DevicesPrefix + "gpu.example")

// gpuNodes has a node with two GPUs, one with a GPU that is given as a whole or in halves, and one with a GPU that claims share.
func gpuNodes() *stowagev1.Cluster {
	counters := func(value int64) []*stowagev1.DeviceCounterSet {
		return []*stowagev1.DeviceCounterSet{{Name: "set", Counters: []*stowagev1.DeviceCounter{{Name: "memory", Value: value}}}}
	}
	return &stowagev1.Cluster{
		Nodes: []*stowagev1.Node{
			{Name: "a", Allocatable: &stowagev1.Resources{}, Pods: []*stowagev1.Pod{{
				Name: "notebook", Source: &stowagev1.Pod_Template{Template: &stowagev1.PodTemplate{Namespace: "default"}},
			}}},
			{Name: "b", Allocatable: &stowagev1.Resources{}}, {Name: "c", Allocatable: &stowagev1.Resources{}},
		},
		DeviceTypes: []*stowagev1.DeviceType{
			{Name: "whole"}, {Name: "half"},
			{Name: "shared", AllowMultipleAllocations: true, Capacities: []*stowagev1.DeviceCapacity{{Name: "memory", Value: 80}}},
		},
		DeviceExpressions: []*stowagev1.DeviceExpression{{Name: "halves", Matches: []string{"half"}, Mismatches: []string{"whole", "shared"}}},
		DeviceClasses: []*stowagev1.DeviceClass{
			{Name: "gpu", Selectors: []*stowagev1.DeviceSelector{{Driver: "gpu.example"}}, ExtendedResourceName: "example.com/gpu"},
			{Name: "half", Selectors: []*stowagev1.DeviceSelector{{Expression: "halves"}}},
			{Name: "nic", Selectors: []*stowagev1.DeviceSelector{{Driver: "nic.example"}}},
		},
		ResourceSlices: []*stowagev1.ResourceSlice{
			{Name: "a", Driver: "gpu.example", Pool: "a", Generation: 2, NodeName: "a", Devices: []*stowagev1.Device{{Name: "0", Type: "whole"}, {Name: "1", Type: "whole"}}},
			{Name: "a-old", Driver: "gpu.example", Pool: "a", Generation: 1, NodeName: "a", Devices: []*stowagev1.Device{{Name: "2", Type: "whole"}}},
			{Name: "b", Driver: "gpu.example", Pool: "b", NodeName: "b", SliceCount: 2, CounterSets: counters(80)},
			{Name: "b-devices", Driver: "gpu.example", Pool: "b", NodeName: "b", SliceCount: 2, Devices: []*stowagev1.Device{
				{Name: "0", Type: "whole", ConsumesCounters: counters(80)},
				{Name: "0-half-0", Type: "half", ConsumesCounters: counters(40)}, {Name: "0-half-1", Type: "half", ConsumesCounters: counters(40)},
			}},
			{Name: "c", Driver: "gpu.example", Pool: "c", NodeName: "c", Devices: []*stowagev1.Device{{Name: "0", Type: "shared"}}},
		},
		ResourceClaims: []*stowagev1.ResourceClaim{{
			Namespace: "default", Name: "notebook", ReservedFor: []string{"notebook"}, Allocation: &stowagev1.ResourceClaimAllocation{
				Devices: []*stowagev1.DeviceAllocation{{Driver: "gpu.example", Pool: "a", Device: "0"}},
			},
		}},
	}
}

func claiming(class string) *stowagev1.Pod {
	return &stowagev1.Pod{Source: &stowagev1.Pod_Template{Template: &stowagev1.PodTemplate{Namespace: "default", Spec: &stowagev1.PodSpec{
		ResourceClaims: []*stowagev1.PodResourceClaim{{Name: "gpu", Template: &stowagev1.ResourceClaimSpec{Requests: []*stowagev1.DeviceRequest{
			{Name: "r", Exactly: &stowagev1.ExactDeviceRequest{DeviceClassName: class}},
		}}}},
	}}}}
}

func TestDevices(t *testing.T) {
	before, err := fill.Of(gpuNodes())
	if err != nil {
		t.Fatal(err)
	}
	check := func(what string, n *fill.Nodes, want ...[2]int64) {
		t.Helper()
		for i := range n.All {
			has, taken := n.All[i].Allocatable[gpus], n.All[i].Requested[gpus]
			if got := [2]int64{taken.Value(), has.Value()}; got != want[i] {
				t.Errorf("%s: %d of %d devices of node %d are taken, want %d of %d", what, got[0], got[1], i, want[i][0], want[i][1])
			}
		}
	}
	start := [][2]int64{{1, 2}, {0, 3}, {0, 1}}
	check("before", before, start...)

	after := before.Clone()
	after.Take([]*stowagev1.DeviceAllocation{{Driver: "gpu.example", Pool: "b", Device: "0-half-1"}})
	check("a half takes the whole away", after, start[0], [2]int64{2, 3}, start[2])
	after.Take([]*stowagev1.DeviceAllocation{{Driver: "gpu.example", Pool: "b", Device: "0-half-0", AdminAccess: true}})
	check("administrators take nothing", after, start[0], [2]int64{2, 3}, start[2])
	half := []*stowagev1.DeviceAllocation{{
		Driver: "gpu.example", Pool: "c", Device: "0", Shared: true, ConsumedCapacity: []*stowagev1.DeviceCapacityRequest{{Name: "memory", Value: 40}},
	}}
	after.Take(half)
	check("a share", after, start[0], [2]int64{2, 3}, [2]int64{0, 1})
	after.Take(half)
	check("two shares", after, start[0], [2]int64{2, 3}, [2]int64{1, 1})

	after = before.Clone()
	after.Estimate(1, claiming("half"), 2)
	after.Estimate(0, claiming("nic"), 1)
	check("an estimate", after, start[0], [2]int64{3, 3}, start[2])
	after.Move(&stowagev1.PodReference{Namespace: "default", Name: "notebook", NodeIndex: new(uint32(0)), Count: 1}, nil)
	check("a pod leaves", after, [2]int64{0, 2}, [2]int64{3, 3}, start[2])
	after.Estimate(0, &stowagev1.Pod{Source: &stowagev1.Pod_Template{Template: &stowagev1.PodTemplate{Spec: &stowagev1.PodSpec{
		Containers: []*stowagev1.Container{{Requests: &stowagev1.Resources{Scalars: map[string]int64{"example.com/gpu": 2}}}},
	}}}}, 1)
	check("an extended resource", after, [2]int64{2, 2}, [2]int64{3, 3}, start[2])
	check("the original", before, start...)
	if got := fill.DriversOf(gpuNodes(), "half"); len(got) != 1 || got[0] != "gpu.example" {
		t.Errorf("drivers of a class: %v", got)
	}
}
