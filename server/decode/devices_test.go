package decode_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/proto"

	stowagev1 "github.com/stowage-scheduler/stowage/proto/stowage/v1"
	"github.com/stowage-scheduler/stowage/server/decode"
	"github.com/stowage-scheduler/stowage/server/wire"
)

// equipped is a cluster whose node b alone has a free device.
func equipped() *stowagev1.Cluster {
	c := devices()
	c.Nodes = []*stowagev1.Node{
		{Name: "a", Allocatable: &stowagev1.Resources{Pods: new(int64(9))}}, {Name: "b", Allocatable: &stowagev1.Resources{Pods: new(int64(9))}},
	}
	c.DeviceClasses[1].Selectors = c.DeviceClasses[1].Selectors[:1]
	c.ResourceSlices = append(c.ResourceSlices, &stowagev1.ResourceSlice{
		Name: "b-gpus", Driver: "gpu.example.com", Pool: "b", NodeName: "b", Devices: []*stowagev1.Device{{Name: "gpu-0", Type: "h200"}},
	})
	return c
}

func wantsDevice() *stowagev1.Pod {
	return &stowagev1.Pod{Name: "p", Source: &stowagev1.Pod_Template{Template: &stowagev1.PodTemplate{Spec: &stowagev1.PodSpec{
		ResourceClaims: []*stowagev1.PodResourceClaim{{Name: "gpu", Template: &stowagev1.ResourceClaimSpec{
			Requests: []*stowagev1.DeviceRequest{{Name: "r", Exactly: &stowagev1.ExactDeviceRequest{DeviceClassName: "gpu"}}},
		}}},
	}}}}
}

// sameDevices compares the address and the answers about a pod that wants a device.
func sameDevices(t *testing.T, what string, want, got *decode.Snapshot) {
	t.Helper()
	if got.Address != want.Address {
		t.Errorf("%s: the address is %s, want %s", what, got.Address, want.Address)
	}
	if diff := cmp.Diff(answers(t.Context(), want, wantsDevice()), answers(t.Context(), got, wantsDevice())); diff != "" {
		t.Errorf("%s: the answers differ:\n%s", what, diff)
	}
}

// TestDevicesHoweverTheyCome: inline, in parts and by deltas, devices are the same.
func TestDevicesHoweverTheyCome(t *testing.T) {
	c := equipped()
	want := mustWhole(t, c)
	nodes, rest := split(c)
	bare := mustWhole(t, nodes)
	if cmp.Equal(answers(t.Context(), want, wantsDevice()), answers(t.Context(), bare, wantsDevice())) {
		t.Fatal("devices decide nothing")
	}
	var of decode.Nodeless
	for _, what := range []string{"inline", "remembered"} {
		sameDevices(t, what, want, inline(t, &of, wire.Pieces{marshal(t, c)}))
	}
	early, late := proto.CloneOf(rest), &stowagev1.Cluster{}
	late.ResourceSlices, early.ResourceSlices = rest.ResourceSlices[:1], rest.ResourceSlices[1:]
	parts := decode.NewRequest(t.Context())
	for _, part := range []*stowagev1.Cluster{early, nodes, late} {
		parts.Part("part", wire.Pieces{marshal(t, part)})
	}
	if err := parts.Err(); err != nil {
		t.Fatal(err)
	}
	sameDevices(t, "in parts", want, parts.Cluster())
	added, err := follow(t, bare, &stowagev1.ClusterDelta{
		DeviceTypes: c.DeviceTypes, DeviceExpressions: c.DeviceExpressions, DeviceClasses: c.DeviceClasses, ResourceSlices: c.ResourceSlices,
		ResourceClaims: c.ResourceClaims,
	})
	if err != nil {
		t.Fatal(err)
	}
	sameDevices(t, "added", want, added)
	if bytes := want.Memory() - bare.Memory(); bytes < 2<<10 || bytes > 64<<10 {
		t.Errorf("devices take %d bytes", bytes)
	}
	removed, err := follow(t, want, &stowagev1.ClusterDelta{
		RemovedDeviceTypes: []string{"plain", "h200"}, RemovedDeviceExpressions: []string{"is-old", "is-gpu"},
		RemovedDeviceClasses: []string{"plain", "gpu"}, RemovedResourceSlices: []string{"a-gpus", "b-gpus", "shared"},
		RemovedResourceClaims: []*stowagev1.NamespacedName{{Namespace: "prod", Name: "shared"}, {Name: "shared"}},
	})
	if err != nil {
		t.Fatal(err)
	}
	sameDevices(t, "removed", bare, removed)
	taken := &stowagev1.ResourceClaim{Name: "shared", Allocation: &stowagev1.ResourceClaimAllocation{Devices: []*stowagev1.DeviceAllocation{
		{Driver: "gpu.example.com", Pool: "b", Device: "gpu-0"},
	}}}
	c.ResourceClaims[1] = taken
	replaced, err := follow(t, want, &stowagev1.ClusterDelta{ResourceClaims: []*stowagev1.ResourceClaim{taken}})
	if err != nil {
		t.Fatal(err)
	}
	sameDevices(t, "replaced", mustWhole(t, c), replaced)
}

func TestMalformedDeltasOfDevices(t *testing.T) {
	base := mustWhole(t, equipped())
	for want, d := range map[string]*stowagev1.ClusterDelta{
		"delta.removed_resource_slices[0]: ResourceSlice not found in the snapshot": {RemovedResourceSlices: []string{"gone"}},
		"delta.device_classes[1].name: duplicates device_classes[0].name": {
			DeviceClasses: []*stowagev1.DeviceClass{{Name: "x"}, {Name: "x"}},
		},
		"delta.resource_claims[0].spec.requests[0].name: is required": {
			ResourceClaims: []*stowagev1.ResourceClaim{{Name: "x", Spec: &stowagev1.ResourceClaimSpec{Requests: []*stowagev1.DeviceRequest{{}}}}},
		},
		"delta.device_types[0].name: is required": {DeviceTypes: []*stowagev1.DeviceType{{}}},
	} {
		if _, err := follow(t, base, d); err == nil || err.Error() != want {
			t.Errorf("%v, want %s", err, want)
		}
	}
}
