package engine_test

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/stowage-scheduler/stowage/engine"
	"github.com/stowage-scheduler/stowage/engine/api"
	"github.com/stowage-scheduler/stowage/engine/enginetest"
	"github.com/stowage-scheduler/stowage/engine/verdict"
)

// diverse has a node with a device for each cause, and a node with devices of another class.
func diverse() *api.Cluster {
	c := gpuCluster(2, 0)
	d := &c.Devices
	big := []api.DeviceCapacity{{Name: "memory", Value: 80_000}}
	model := func(name string) []api.DeviceAttribute { return []api.DeviceAttribute{{Name: "model", Value: name}} }
	d.Types = []api.DeviceType{
		{Name: "a100", Attributes: model("a100"), Capacities: big}, {Name: "h100", Attributes: model("h100"), Capacities: big},
		{Name: "little", Attributes: model("h100"), Capacities: []api.DeviceCapacity{{Name: "memory", Value: 5_000}}},
		{Name: "shared", Attributes: model("h100"), Capacities: big, AllowMultipleAllocations: true},
	}
	lanes := []api.CounterSet{{Name: "set", Counters: []api.Counter{{Name: "lanes", Value: 1000}}}}
	d.Slices = []api.ResourceSlice{
		{Name: "counters", Driver: "gpu.example", Pool: "n0", SliceCount: 2, NodeName: "n0", CounterSets: lanes},
		{Name: "devices", Driver: "gpu.example", Pool: "n0", SliceCount: 2, NodeName: "n0", Devices: []api.Device{
			{Name: "another-model", Type: "a100"}, {Name: "broken", Type: "h100", Taints: []api.DeviceTaint{{Key: "xid", Effect: api.DeviceNoExecute}}},
			{Name: "half", Type: "h100", ConsumesCounters: lanes}, {Name: "little", Type: "little"}, {Name: "shared", Type: "shared"},
			{Name: "taken", Type: "h100"}, {Name: "whole", Type: "h100", ConsumesCounters: lanes},
		}},
		{Name: "nics", Driver: "nic.example", Pool: "n1", NodeName: "n1", Devices: []api.Device{{Name: "nic-0"}}},
	}
	given := func(device string, used ...api.CapacityRequest) api.DeviceAllocation {
		return api.DeviceAllocation{
			Request: "r", Driver: "gpu.example", Pool: "n0", Device: device, Shared: len(used) > 0, ConsumedCapacity: used,
		}
	}
	d.Claims = []api.ResourceClaim{{
		Namespace: "default", Name: "there", ReservedFor: []string{"notebook"}, Allocation: &api.ClaimAllocation{Devices: []api.DeviceAllocation{
			given("taken"), given("whole"), given("shared", api.CapacityRequest{Name: "memory", Value: 60_000}),
		}},
	}}
	d.Sort()
	return c
}

func explained(t *testing.T, c *api.Cluster, pod *api.Pod) *verdict.Filter {
	t.Helper()
	compiled, err := engine.Compile(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	out, err := compiled.Filter(t.Context(), pod, engine.FilterOptions{Profile: api.Kube137(), Explain: true})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// TestWhyNoDevices has a device for each cause.
func TestWhyNoDevices(t *testing.T) {
	template := claimingDevices(1)
	selector := api.DeviceSelector{Attribute: &api.DeviceAttribute{Name: "gpu.example/model", Value: "h100"}}
	r := template.Spec.ResourceClaims[0].Template.Requests[0].Exactly
	r.Selectors, r.Capacities = []api.DeviceSelector{selector}, []api.CapacityRequest{{Name: "memory", Value: 40_000}}
	result := explained(t, diverse(), &api.Pod{Template: template, TemplateIndex: -1})
	request := verdict.DeviceRequestCounts{PodClaim: "gpus", Request: "r", Class: "gpu", Requested: 1}
	first, second := request, request
	first.Devices = 7
	first.Excluded = []verdict.ExcludedDevices{
		{Cause: verdict.DeviceNotSelected, Selector: &selector, Devices: 1}, {Cause: verdict.DeviceTooSmall, Capacity: "memory", Devices: 1},
		{Cause: verdict.DeviceTainted, Taint: api.DeviceTaint{Key: "xid", Effect: api.DeviceNoExecute}, Devices: 1},
		{Cause: verdict.DeviceTaken, Devices: 2}, {Cause: verdict.DeviceCapacityUsed, Capacity: "memory", Devices: 1},
		{Cause: verdict.DeviceCountersUsed, Devices: 1},
	}
	second.Devices = 1
	second.Excluded = []verdict.ExcludedDevices{{Cause: verdict.DeviceOfOtherClass, Selector: &api.DeviceSelector{Driver: "gpu.example"}, Devices: 1}}
	total := request
	total.Devices, total.Excluded = 8, slices.Concat(second.Excluded, first.Excluded)
	holder := func(device string) verdict.TakenDevice {
		return verdict.TakenDevice{
			Driver: "gpu.example", Pool: "n0", Device: device, Node: 0, Namespace: "default", Claim: "there",
			Pods: []verdict.PodReference{{Namespace: "default", Name: "notebook", Node: 0, Count: 1, Template: -1, Queue: -1}},
		}
	}
	want := verdict.DeviceExplanation{
		Requests:  []verdict.DeviceRequestCounts{total},
		Shortages: []verdict.DeviceShortage{{Nodes: []uint32{0}, Requests: []verdict.DeviceRequestCounts{first}}, {Nodes: []uint32{1}, Requests: []verdict.DeviceRequestCounts{second}}},
		Taken:     []verdict.TakenDevice{holder("taken"), holder("whole"), holder("shared")},
	}
	if diff := cmp.Diff(want, result.Explanation.Devices); diff != "" {
		t.Error(diff)
	}
}

// TestUnmetConstraint has devices for each request, and none with one model.
func TestUnmetConstraint(t *testing.T) {
	c := gpuCluster(3, 2)
	c.Devices.Types = append(c.Devices.Types, api.DeviceType{Name: "other", Attributes: []api.DeviceAttribute{{Name: "model", Value: "y"}}})
	for i := range c.Devices.Slices {
		c.Devices.Slices[i].Devices[1].Type = "other"
	}
	c.Devices.Sort()
	e := explained(t, c, &api.Pod{Template: claimingDevices(2), TemplateIndex: -1}).Explanation.Devices
	want := []verdict.UnmetConstraint{{PodClaim: "gpus", Attribute: "gpu.example/model"}}
	if len(e.Shortages) != 1 || len(e.Shortages[0].Nodes) != 3 || !cmp.Equal(e.Shortages[0].Constraints, want) {
		t.Errorf("%+v", e.Shortages)
	}
	if r := e.Requests[0]; r.Devices != 6 || r.Available != 6 {
		t.Errorf("%+v", r)
	}
}

// TestPodsOfTheQueueTakeDevices explains a pod after pods of the queue that have all devices.
func TestPodsOfTheQueueTakeDevices(t *testing.T) {
	c, err := engine.Compile(t.Context(), gpuCluster(2, 2))
	if err != nil {
		t.Fatal(err)
	}
	extended := &api.PodTemplate{Namespace: "default", Spec: api.PodSpec{
		Containers: []api.Container{{Name: "main", Requests: enginetest.Resources("example.com/gpu", 1)}},
	}}
	for what, template := range map[string]*api.PodTemplate{"claims": claimingDevices(1), "extended resources": extended} {
		p, err := c.Place(t.Context(), []engine.Pending{{Pod: api.Pod{Template: template, TemplateIndex: -1}, Count: 5}},
			engine.PlaceOptions{Profile: api.Kube137(), Explain: true})
		if err != nil {
			t.Fatal(err)
		}
		e := p.Placements[0].Explanation.Devices
		if len(e.Taken) != 4 || len(e.Shortages) != 1 || len(e.Shortages[0].Nodes) != 2 {
			t.Fatalf("%s: %+v", what, e)
		}
		for _, of := range e.Taken {
			if len(of.Pods) != 1 || of.Pods[0].Queue != 0 || of.Pods[0].Node != of.Node {
				t.Errorf("%s: %+v", what, of)
			}
		}
		if r := e.Requests[0]; r.Available != 0 || r.Devices != 4 || (r.Resource == "") != (what == "claims") {
			t.Errorf("%s: %+v", what, r)
		}
	}
}

// TestRandomDeviceExplanations compares explanations with decisions: a pod that lacks only the constraints it names has a node without
// them, and a pod of one simple request has no node because no device is available.
func TestRandomDeviceExplanations(t *testing.T) {
	explanations, simple, relaxed := 0, 0, 0
	for seed := range uint64(400) {
		rng := rand.New(rand.NewPCG(seed, 41))
		stated, pods := enginetest.Random(rng)
		enginetest.RandomDevices(rng, stated, pods)
		for i := range pods {
			e := explained(t, stated, &pods[i]).Explanation
			for _, s := range e.Devices.Shortages {
				explanations++
				for _, r := range s.Requests {
					sum := r.Available
					for _, x := range r.Excluded {
						sum += x.Devices
					}
					if sum != r.Devices {
						t.Errorf("seed %d: %d of %d devices are counted", seed, sum, r.Devices)
					}
				}
				if r := s.Requests[0]; len(s.Requests) == 1 && r.Requested == 1 && len(s.Constraints) == 0 && !constrained(&pods[i]) {
					if simple++; r.Available > 0 {
						t.Errorf("seed %d, %s: %+v is rejected", seed, pods[i].Name, r)
					}
				}
				if len(s.Constraints) > 0 && !slices.ContainsFunc(pods[i].Template.Spec.ResourceClaims, func(c api.PodResourceClaim) bool { return c.Template == nil }) {
					relaxed++
					if other := relaxedPod(&pods[i], s.Constraints); rejectedFor(explained(t, stated, other), s.Nodes[0]) {
						t.Errorf("seed %d, %s: rejected without %+v, too", seed, pods[i].Name, s.Constraints)
					}
				}
			}
		}
	}
	if explanations < 300 || simple < 50 || relaxed < 5 {
		t.Errorf("%d explanations, %d of simple pods, %d of constraints: the cases no longer exercise them", explanations, simple, relaxed)
	}
}

// rejectedFor reports whether DynamicResources rejects a node because it lacks devices.
func rejectedFor(f *verdict.Filter, node uint32) bool {
	return slices.ContainsFunc(f.Explanation.Failing, func(r verdict.Rejection) bool {
		return r.Plugin == verdict.DynamicResources && slices.Contains(r.Nodes, node) &&
			slices.Contains(r.Reasons, verdict.ReasonOf(verdict.ReasonNoDevices))
	})
}

func constrained(p *api.Pod) bool {
	return slices.ContainsFunc(p.Template.Spec.ResourceClaims, func(c api.PodResourceClaim) bool {
		return c.Template == nil || len(c.Template.Constraints) > 0
	})
}

// relaxedPod returns a pod without constraints of claims that are created for it.
func relaxedPod(p *api.Pod, all []verdict.UnmetConstraint) *api.Pod {
	out, template := *p, *p.Template
	template.Spec.ResourceClaims = slices.Clone(template.Spec.ResourceClaims)
	for i := range template.Spec.ResourceClaims {
		c := &template.Spec.ResourceClaims[i]
		if c.Template == nil {
			continue
		}
		spec := *c.Template
		spec.Constraints = nil
		for j, k := range c.Template.Constraints {
			if !slices.ContainsFunc(all, func(u verdict.UnmetConstraint) bool { return u.PodClaim == c.Name && u.Index == j }) {
				spec.Constraints = append(spec.Constraints, k)
			}
		}
		c.Template = &spec
	}
	out.Template = &template
	return &out
}

// TestFitExplainsWhatRunsOut counts pods until the devices are taken, by the counted pods.
func TestFitExplainsWhatRunsOut(t *testing.T) {
	c, err := engine.Compile(t.Context(), gpuCluster(2, 3))
	if err != nil {
		t.Fatal(err)
	}
	mix := []engine.Pending{{Pod: api.Pod{Template: claimingDevices(2), TemplateIndex: -1}, Count: 1}}
	for _, explain := range []bool{false, true} {
		f, err := c.Fit(t.Context(), mix, engine.FitOptions{Profile: api.Kube137(), Units: 10, Explain: explain})
		if err != nil {
			t.Fatal(err)
		}
		if f.Units != 2 || (f.Explanation != nil) != explain {
			t.Fatalf("%d units, explained: %v", f.Units, f.Explanation != nil)
		}
		if !explain {
			continue
		}
		if r := f.Explanation.Devices.Requests; len(r) != 1 || r[0].Available != 2 || r[0].Devices != 6 || len(f.Explanation.Devices.Taken) != 4 {
			t.Errorf("%+v", f.Explanation.Devices)
		}
	}
}
