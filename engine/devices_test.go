package engine_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/stowage-scheduler/stowage/engine"
	"github.com/stowage-scheduler/stowage/engine/api"
	"github.com/stowage-scheduler/stowage/engine/enginetest"
	"github.com/stowage-scheduler/stowage/engine/verdict"
)

// gpuCluster has nodes with equal devices, and a class that serves an extended resource.
func gpuCluster(nodes, devices int) *api.Cluster {
	c := &api.Cluster{}
	for i := range nodes {
		name := fmt.Sprint("n", i)
		c.Nodes = append(c.Nodes, api.Node{Name: name, NodeSpec: api.NodeSpec{
			Labels: api.LabelsOf(map[string]string{"kubernetes.io/hostname": name}), Allocatable: enginetest.Resources("cpu", 64000, "memory", 1<<40, "pods", 110),
		}})
		s := api.ResourceSlice{Name: "slice-" + name, Driver: "gpu.example", Pool: name, NodeName: name}
		for j := range devices {
			s.Devices = append(s.Devices, api.Device{Name: fmt.Sprint("gpu-", j), Type: "gpu"})
		}
		c.Devices.Slices = append(c.Devices.Slices, s)
	}
	c.Devices.Types = []api.DeviceType{{Name: "gpu", Attributes: []api.DeviceAttribute{{Name: "model", Value: "x"}}}}
	c.Devices.Classes = []api.DeviceClass{{
		Name: "gpu", Selectors: []api.DeviceSelector{{Driver: "gpu.example"}}, ExtendedResourceName: "example.com/gpu",
	}}
	c.Devices.Sort()
	return c
}

func claimingDevices(count int64) *api.PodTemplate {
	return &api.PodTemplate{Namespace: "default", Spec: api.PodSpec{
		Containers: []api.Container{{Name: "main", Requests: enginetest.Resources("cpu", 100)}},
		ResourceClaims: []api.PodResourceClaim{{Name: "gpus", Template: &api.ResourceClaimSpec{
			Requests:    []api.DeviceRequest{{Name: "r", Exactly: &api.ExactDeviceRequest{DeviceClassName: "gpu", Count: count}}},
			Constraints: []api.DeviceConstraint{{Attribute: "gpu.example/model"}},
		}}},
	}}
}

// once fails for a device that several pods got.
func once(t *testing.T, what string, p *verdict.Place) {
	t.Helper()
	given := make(map[string]bool)
	for _, d := range p.Devices {
		for _, a := range d.Devices {
			if a.Shared || a.AdminAccess {
				continue
			}
			name := fmt.Sprint(a.Driver, "/", a.Pool, "/", a.Device)
			if given[name] {
				t.Errorf("%s: %s is given twice", what, name)
			}
			given[name] = true
		}
	}
}

// TestDevicesAreGivenOnce places more pods than there are devices, in every way: as many get devices as there are, each device once.
func TestDevicesAreGivenOnce(t *testing.T) {
	ctx := context.Background()
	c, err := engine.Compile(ctx, gpuCluster(5, 4))
	if err != nil {
		t.Fatal(err)
	}
	extended := &api.PodTemplate{Namespace: "default", Spec: api.PodSpec{
		Containers: []api.Container{{Name: "main", Requests: enginetest.Resources("example.com/gpu", 1)}},
	}}
	for what, o := range map[string]engine.PlaceOptions{
		"in order": {}, "scanning": {Scan: true}, "as kube-scheduler": {Scheduler: true, Preempt: true},
		"as a group": {Groups: []engine.PodGroup{{Name: "g", Minimum: 1, Entries: []int{0, 1}}}},
		"jointly":    {Groups: []engine.PodGroup{{Name: "g", Minimum: 1, Joint: true, Steps: 1000, Entries: []int{0, 1}}}},
	} {
		o.Profile = api.Kube137()
		p, err := c.Place(ctx, []engine.Pending{
			{Pod: api.Pod{Template: claimingDevices(3), TemplateIndex: -1}, Count: 3}, {Pod: api.Pod{Template: extended, TemplateIndex: -1}, Count: 20},
		}, o)
		if err != nil {
			t.Fatal(what, err)
		}
		once(t, what, p)
		devices := 0
		for _, d := range p.Devices {
			devices += len(d.Devices)
		}
		if three, single := len(p.Placements[0].Nodes), len(p.Placements[1].Nodes); devices != 3*three+single || single == 0 || devices > 20 {
			t.Errorf("%s: %d devices for %d pods with three and %d with one", what, devices, three, single)
		}
		if what != "jointly" && devices != 20 {
			t.Errorf("%s: %d of 20 devices are given", what, devices)
		}
		if !o.Scheduler && what == "in order" && p.Placements[1].Message != "0/5 nodes are available: 5 cannot allocate all claims." {
			t.Errorf("%s: %s", what, p.Placements[1].Message)
		}
	}
}

// TestRandomDevicesAreGivenOnce is TestDevicesAreGivenOnce for random clusters.
func TestRandomDevicesAreGivenOnce(t *testing.T) {
	ctx := context.Background()
	given := 0
	for seed := range uint64(150) {
		rng := rand.New(rand.NewPCG(seed, 39))
		stated, pods := enginetest.Random(rng)
		enginetest.RandomDevices(rng, stated, pods)
		c, err := engine.Compile(ctx, stated)
		if err != nil {
			t.Fatal(err)
		}
		var queue []engine.Pending
		for i := range pods {
			queue = append(queue, engine.Pending{Pod: pods[i], Count: 2})
		}
		for _, scheduler := range []bool{false, true} {
			p, err := c.Place(ctx, queue, engine.PlaceOptions{Profile: api.Kube137(), Scheduler: scheduler, Preempt: scheduler, Seed: seed})
			if err != nil {
				t.Fatal(err)
			}
			given += len(p.Devices)
			if !scheduler || len(p.Evictions) == 0 { // what an evicted pod leaves is given again
				once(t, fmt.Sprint("seed ", seed), p)
			}
		}
	}
	if given < 150 {
		t.Errorf("%d claims got devices: the cases no longer exercise them", given)
	}
}

// TestScaleDownOfPodsWithDevices has replicas that have all devices of their nodes. None of them is rejected for that.
func TestScaleDownOfPodsWithDevices(t *testing.T) {
	stated := gpuCluster(3, 1)
	for i := range stated.Nodes {
		name := fmt.Sprint("replica-", i)
		stated.Nodes[i].Pods = []api.Pod{{Name: name, Template: claimingDevices(1), TemplateIndex: -1}}
		stated.Nodes[i].Pods[0].Template.Labels = api.Labels{{Key: "app", Value: "web"}}
		if i == 0 {
			continue // its node has a free device
		}
		stated.Devices.Claims = append(stated.Devices.Claims, api.ResourceClaim{
			Namespace: "default", Name: name, ControllerPod: name, ReservedFor: []string{name},
			Allocation: &api.ClaimAllocation{Devices: []api.DeviceAllocation{{
				Request: "r", Driver: "gpu.example", Pool: stated.Nodes[i].Name, Device: "gpu-0",
			}}},
		})
	}
	c, err := engine.Compile(t.Context(), stated)
	if err != nil {
		t.Fatal(err)
	}
	down, err := c.ScaleDown(t.Context(), &stated.Nodes[0].Pods[0], engine.ScaleDownOptions{Profile: api.Kube137(), Replicas: 1})
	if err != nil {
		t.Fatal(err)
	}
	if len(down.Deletions) != 2 {
		t.Errorf("%+v", down)
	}
	for _, d := range down.Deletions {
		if len(d.Broken) > 0 {
			t.Errorf("%s breaks %v", d.Pod.Name, d.Broken)
		}
	}
}
