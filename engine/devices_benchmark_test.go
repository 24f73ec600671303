package engine_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/stowage-scheduler/stowage/engine"
	"github.com/stowage-scheduler/stowage/engine/api"
	"github.com/stowage-scheduler/stowage/engine/enginetest"
	"github.com/stowage-scheduler/stowage/engine/verdict"
)

// BenchmarkDevices places single-device pods, and pods with 8 matching devices, on 1,000 nodes with 8 devices each.
func BenchmarkDevices(b *testing.B) {
	ctx := context.Background()
	c, err := engine.Compile(ctx, gpuCluster(1000, 8))
	if err != nil {
		b.Fatal(err)
	}
	for _, k := range []struct {
		name    string
		pods    int
		devices int64
	}{{"4000 pods with 1", 4000, 1}, {"500 pods with 8", 500, 8}} {
		b.Run(k.name, func(b *testing.B) {
			for b.Loop() {
				p, err := c.Place(ctx, []engine.Pending{{Pod: api.Pod{Template: claimingDevices(k.devices), TemplateIndex: -1}, Count: k.pods}},
					engine.PlaceOptions{Profile: api.Kube137()})
				if err != nil || len(p.Placements[0].Nodes) != k.pods || len(p.Devices) != k.pods {
					b.Fatal(err, p)
				}
			}
		})
	}
}

// BenchmarkDevicesOfGang places a gang of 512 pods with 8 devices each on 1,000 nodes with 8 devices each, in order, in one domain of a
// topology, and jointly.
func BenchmarkDevicesOfGang(b *testing.B) {
	const pods = 512
	stated := gpuCluster(1000, 8)
	for i := range stated.Nodes {
		n := &stated.Nodes[i]
		n.Labels = n.Labels.With(api.Labels{{Key: zone, Value: fmt.Sprint("z", i%2)}})
	}
	c := compiled(b, stated)
	for _, k := range []struct {
		name  string
		count int
		group engine.PodGroup
	}{
		{"in order", pods, engine.PodGroup{}}, {"in a domain", 500, engine.PodGroup{Keys: []string{zone}, Constrained: true}},
		{"jointly", pods, engine.PodGroup{Joint: true}},
	} {
		b.Run(k.name, func(b *testing.B) {
			k.group.Name, k.group.Entries, k.group.Minimum = "default/gang", []int{0}, k.count
			for b.Loop() {
				p, err := c.Place(b.Context(), []engine.Pending{{Pod: api.Pod{Template: claimingDevices(8), TemplateIndex: -1}, Count: k.count}},
					engine.PlaceOptions{Profile: api.Kube137(), Groups: []engine.PodGroup{k.group}})
				if err != nil || len(p.Placements[0].Nodes) != k.count || len(p.Devices) != k.count {
					b.Fatal(err, len(p.Placements[0].Nodes), p.Placements[0].Message)
				}
			}
		})
	}
}

// BenchmarkDevicesUnused filters and places pods without claims on 1,000 nodes, with 8,000 devices and without. The placements are the same.
func BenchmarkDevicesUnused(b *testing.B) {
	pod := enginetest.MakePod("p").Request("cpu", 100).Pod
	var want []uint32
	for _, devices := range []int{0, 8} {
		stated := gpuCluster(1000, devices)
		if devices == 0 {
			stated.Devices = api.Devices{}
		}
		c := compiled(b, stated)
		b.Run(fmt.Sprint("filter/devices=", 1000*devices), func(b *testing.B) {
			for b.Loop() {
				f, err := c.Filter(b.Context(), &pod, engine.FilterOptions{Profile: api.Kube137()})
				if err != nil || len(f.Feasible) != 1000 {
					b.Fatal(err)
				}
			}
		})
		b.Run(fmt.Sprint("place/devices=", 1000*devices), func(b *testing.B) {
			for b.Loop() {
				p, err := c.Place(b.Context(), []engine.Pending{{Pod: pod, Count: 2000}}, engine.PlaceOptions{Profile: api.Kube137()})
				if err != nil || len(p.Placements[0].Nodes) != 2000 {
					b.Fatal(err)
				}
				if want == nil {
					want = p.Placements[0].Nodes
				}
				for i, n := range p.Placements[0].Nodes {
					if want[i] != n {
						b.Fatal("other nodes")
					}
				}
			}
		})
	}
}

// unsolvable is a claim for devices of which no two may have the same model, and all have one: a search tries nearly all sets of them.
func unsolvable() *api.PodTemplate {
	t := claimingDevices(1)
	claim := t.Spec.ResourceClaims[0].Template
	claim.Constraints = []api.DeviceConstraint{{Requests: []string{"all"}, Attribute: "gpu.example/model", Distinct: true}}
	claim.Requests = []api.DeviceRequest{
		{Name: "many", Exactly: &api.ExactDeviceRequest{DeviceClassName: "gpu", Count: 12}},
		{Name: "all", Exactly: &api.ExactDeviceRequest{DeviceClassName: "gpu", Count: 2}},
	}
	return t
}

// differentGPUs is gpuCluster with devices of which no two have the same taints: no search has another one's outcome, and none leaves
// devices out because they equal others.
func differentGPUs(nodes, devices int) *api.Cluster {
	c := gpuCluster(nodes, devices)
	for i := range c.Devices.Slices {
		for j := range c.Devices.Slices[i].Devices {
			c.Devices.Slices[i].Devices[j].Taints = []api.DeviceTaint{{Key: fmt.Sprint(i, "-", j), Effect: api.NoDeviceEffect}}
		}
	}
	return c
}

// BenchmarkDevicesUndecided is about a claim that no search decides, on nodes that have no search in common.
func BenchmarkDevicesUndecided(b *testing.B) {
	stated := differentGPUs(1000, 40)
	c := compiled(b, stated)
	for b.Loop() {
		p, err := c.Place(b.Context(), []engine.Pending{{Pod: api.Pod{Template: unsolvable(), TemplateIndex: -1}, Count: 1}},
			engine.PlaceOptions{Profile: api.Kube137()})
		if err != nil || p.Placements[0].Unplaced != 1 || len(p.Doubts) != 1 || p.Doubts[0].Kind != verdict.DevicesUndecided {
			b.Fatal(err, p)
		}
	}
}
