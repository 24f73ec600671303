package enginetest

import (
	"fmt"
	"math/rand/v2"
	"slices"

	"github.com/stowage-scheduler/stowage/engine/api"
)

const (
	gpuDriver = "gpu.example"
	nicDriver = "nic.example"
	gpuClass  = "gpu"
	gpuName   = "example.com/device"
	modelKey  = "gpu.example/model"
	rackKey   = "nic.example/rack"
)

// RandomDevices gives a random cluster devices, of which some are shared by nodes, and pods claims and extended resources. Pods that claim
// devices get templates of their own.
func RandomDevices(rng *rand.Rand, c *api.Cluster, pods []api.Pod) {
	d := &c.Devices
	d.Types = randomDeviceTypes(rng)
	d.Expressions = []api.DeviceExpression{
		{Name: "broken", Text: "device.", CompileError: "Syntax error"},
		{Name: "fast", Text: `device.attributes["gpu.example"].model == "fast"`, Matches: []string{"fast"}, Mismatches: []string{"shared", "slow"}},
		{
			Name: "picky", Text: `device.attributes["gpu.example"].cores > 4`, Matches: []string{"fast", "slow"},
			Failures: []api.ExpressionFailure{{Type: "shared", Message: "no such key: cores"}}, Mismatches: pick(rng, nil, []string{"slow"}),
		},
	}
	d.Classes = []api.DeviceClass{
		{Name: gpuClass, Selectors: []api.DeviceSelector{{Driver: gpuDriver}}, ExtendedResourceName: pick(rng, "", gpuName), CreationTime: 1},
		{Name: "nic", Selectors: []api.DeviceSelector{{Driver: nicDriver}}, ExtendedResourceName: pick(rng, "", "", gpuName), CreationTime: 2},
	}
	for i := range c.Nodes {
		if rng.IntN(4) > 0 {
			d.Slices = append(d.Slices, RandomSlice(rng, fmt.Sprint("gpus-", i), c.Nodes[i].Name))
		}
	}
	d.Slices = append(d.Slices, randomFabric(rng, c)...)
	for i := range 3 {
		d.Claims = append(d.Claims, randomResourceClaim(rng, d, fmt.Sprint("claim-", i)))
	}
	d.Sort()
	for i := range pods {
		if rng.IntN(2) == 0 {
			continue
		}
		own := *pods[i].Template
		switch rng.IntN(4) {
		case 0:
			own.Spec.Containers = []api.Container{{Name: "main", Requests: Resources("cpu", 100, gpuName, int64(1+rng.IntN(2)))}}
		case 1:
			own.Spec.ResourceClaims = []api.PodResourceClaim{{Name: "own"}}
			pods[i].ResourceClaimStatuses = pick(rng, nil,
				[]api.PodClaimStatus{{Name: "own", ResourceClaimName: "claim-0"}}, []api.PodClaimStatus{{Name: "own"}})
		default:
			for j := range 1 + rng.IntN(2) {
				claim := api.PodResourceClaim{Name: fmt.Sprint("r", j), Template: randomResourceClaimSpec(rng)}
				if rng.IntN(3) == 0 {
					claim.ResourceClaimName, claim.Template = fmt.Sprint("claim-", rng.IntN(4)), nil
				}
				own.Spec.ResourceClaims = append(own.Spec.ResourceClaims, claim)
			}
		}
		pods[i].Template, pods[i].TemplateIndex = &own, -1
	}
}

func randomDeviceTypes(rng *rand.Rand) []api.DeviceType {
	model := func(name string) []api.DeviceAttribute {
		return []api.DeviceAttribute{
			{Name: "model", Kind: api.StringAttribute, Value: name}, {Name: "cores", Kind: api.IntegerAttribute, Value: pick(rng, "4", "8")},
		}
	}
	policy := pick(rng, nil,
		&api.CapacityPolicy{Default: new(int64(1000)), ValidValues: []api.CapacityValue{{Value: 1000}, {Value: 2000}}},
		&api.CapacityPolicy{ValidRange: &api.CapacityRange{Min: 1000, Max: pick(rng, nil, new(int64(3000))), Step: pick(rng, nil, new(int64(1000)))}})
	memory := []api.DeviceCapacity{{Name: "memory", Value: 4000, Policy: policy}}
	return []api.DeviceType{
		{Name: "fast", Attributes: model("fast"), Capacities: memory},
		{Name: "shared", Attributes: model("shared")[:1], Capacities: memory, AllowMultipleAllocations: true},
		{Name: "slow", Attributes: model("slow")},
	}
}

// RandomSlice returns devices of a node.
func RandomSlice(rng *rand.Rand, name, node string) api.ResourceSlice {
	s := api.ResourceSlice{
		Name: name, Driver: gpuDriver, Pool: node, Generation: int64(rng.IntN(2)), SliceCount: int64(1 + rng.IntN(8)/7), NodeName: node,
	}
	for i := range 1 + rng.IntN(4) {
		s.Devices = append(s.Devices, randomDevice(rng, fmt.Sprint("gpu-", i)))
	}
	return s
}

func randomDevice(rng *rand.Rand, name string) api.Device {
	d := api.Device{
		Name: name, Type: pick(rng, "fast", "slow", "slow", "shared"),
		Attributes: []api.DeviceAttribute{{Name: rackKey, Kind: api.VersionAttribute, Value: pick(rng, "1.0.0", "2.0.0")}},
	}
	if rng.IntN(6) == 0 {
		d.Taints = []api.DeviceTaint{{Key: "hot", Value: "very", Effect: pick(rng, api.NoDeviceEffect, api.DeviceNoSchedule, api.DeviceNoExecute)}}
	}
	if rng.IntN(20) == 0 {
		d.BindingConditions = []string{"attached"}
	}
	return d
}

// randomFabric returns the slices of a pool with counters, whose devices several nodes can use.
func randomFabric(rng *rand.Rand, c *api.Cluster) []api.ResourceSlice {
	zone := &api.NodeSelector{Terms: []api.NodeSelectorTerm{{MatchExpressions: requirements(zoneKey, pick(rng, "a", "b"))}}}
	consumes := []api.CounterSet{{Name: "ports", Counters: []api.Counter{{Name: "lanes", Value: 2000}}}}
	s := api.ResourceSlice{Name: "fabric-devices", Driver: nicDriver, Pool: "fabric", SliceCount: 2}
	for i := range 2 + rng.IntN(3) {
		d := randomDevice(rng, fmt.Sprint("nic-", i))
		if d.BindsToNode = rng.IntN(3) == 0; rng.IntN(2) == 0 {
			d.ConsumesCounters = consumes
		}
		s.Devices = append(s.Devices, d)
	}
	switch rng.IntN(3) {
	case 0:
		s.AllNodes = true
	case 1:
		s.NodeSelector = zone
	default:
		s.PerDeviceNodeSelection = true
		for i := range s.Devices {
			d := &s.Devices[i]
			switch rng.IntN(3) {
			case 0:
				d.AllNodes = true
			case 1:
				d.NodeSelector = zone
			default:
				d.NodeName = fmt.Sprint("n", rng.IntN(max(1, len(c.Nodes))))
			}
		}
	}
	return []api.ResourceSlice{s, {
		Name: "fabric-counters", Driver: nicDriver, Pool: "fabric", SliceCount: 2, AllNodes: true,
		CounterSets: []api.CounterSet{{Name: "ports", Counters: []api.Counter{{Name: "lanes", Value: int64(2+rng.IntN(5)) * 1000}}}},
	}}
}

// randomResourceClaim returns a claim, with devices now and then.
func randomResourceClaim(rng *rand.Rand, d *api.Devices, name string) api.ResourceClaim {
	claim := api.ResourceClaim{
		Namespace: "default", Name: name, Spec: *randomResourceClaimSpec(rng), Terminating: rng.IntN(20) == 0,
		ControllerPod: pick(rng, "", "p0", "p1"), ExtendedResources: rng.IntN(10) == 0,
	}
	of := &d.Slices[rng.IntN(len(d.Slices))]
	if rng.IntN(2) == 0 || len(of.Devices) == 0 {
		return claim
	}
	device := of.Devices[rng.IntN(len(of.Devices))]
	claim.Allocation = &api.ClaimAllocation{Devices: []api.DeviceAllocation{{
		Request: "r0", Driver: of.Driver, Pool: of.Pool, Device: device.Name, AdminAccess: rng.IntN(6) == 0, Shared: device.Type == "shared",
	}}}
	if device.Type == "shared" {
		claim.Allocation.Devices[0].ConsumedCapacity = []api.CapacityRequest{{Name: "memory", Value: 1000}}
	}
	if of.NodeName != "" {
		claim.Allocation.NodeSelector = &api.NodeSelector{Terms: []api.NodeSelectorTerm{{MatchFields: requirements("metadata.name", of.NodeName)}}}
	}
	claim.ReservedFor, claim.BindingFailed = pick(rng, nil, []string{"p0"}), rng.IntN(10) == 0
	return claim
}

func randomResourceClaimSpec(rng *rand.Rand) *api.ResourceClaimSpec {
	s := &api.ResourceClaimSpec{}
	for i := range 1 + rng.IntN(2) {
		r := api.DeviceRequest{Name: fmt.Sprint("r", i)}
		if rng.IntN(3) > 0 {
			r.Exactly = randomDeviceRequest(rng)
		} else {
			r.FirstAvailable = []api.DeviceSubRequest{{Name: "best", Request: *randomDeviceRequest(rng)}, {Name: "rest", Request: *randomDeviceRequest(rng)}}
		}
		s.Requests = append(s.Requests, r)
	}
	if rng.IntN(4) == 0 {
		s.Constraints = []api.DeviceConstraint{{
			Requests: pick(rng, nil, []string{"r0"}, []string{"r0/best"}), Attribute: pick(rng, modelKey, rackKey), Distinct: rng.IntN(2) == 0,
		}}
	}
	return s
}

func randomDeviceRequest(rng *rand.Rand) *api.ExactDeviceRequest {
	r := &api.ExactDeviceRequest{DeviceClassName: pick(rng, gpuClass, gpuClass, gpuClass, "nic"), Count: int64(rng.IntN(3))}
	switch rng.IntN(8) {
	case 0:
		r.All = true
	case 1:
		r.AdminAccess = true
	case 2:
		r.Capacities = []api.CapacityRequest{{Name: "memory", Value: int64(rng.IntN(4)) * 700}}
	case 3:
		r.Tolerations = pick(rng, []api.DeviceToleration{{Exists: true, Effect: api.DeviceNoSchedule}}, []api.DeviceToleration{{Key: "hot", Value: "very"}})
	}
	switch rng.IntN(8) {
	case 0, 1:
		r.Selectors = []api.DeviceSelector{{Expression: "fast"}}
	case 2:
		r.Selectors = []api.DeviceSelector{{Attribute: &api.DeviceAttribute{Name: modelKey, Kind: api.StringAttribute, Value: "slow"}}}
	case 3:
		r.Selectors = []api.DeviceSelector{{Expression: pick(rng, "fast", "fast", "picky", "broken", "none")}}
	}
	return r
}

// RandomHolders lets named pods of a random cluster with devices have claims, of their own and shared ones, and gives templates claims.
func RandomHolders(rng *rand.Rand, c *api.Cluster) {
	taken := make(map[string]bool)
	for _, claim := range c.Devices.Claims {
		for _, a := range allocated(&claim) {
			taken[a.Pool+"/"+a.Device] = true
		}
	}
	for i := range c.Nodes {
		n := &c.Nodes[i]
		at := slices.IndexFunc(c.Devices.Slices, func(s api.ResourceSlice) bool { return s.NodeName == n.Name })
		if at < 0 {
			continue
		}
		for j := range n.Pods {
			if rng.IntN(3) == 0 || n.Pods[j].Name == "" {
				continue
			}
			claim := api.ResourceClaim{Namespace: n.Pods[j].Template.Namespace, Name: "held-by-" + n.Pods[j].Name, Spec: *randomResourceClaimSpec(rng)}
			claim.ReservedFor = []string{n.Pods[j].Name}
			if rng.IntN(2) == 0 {
				claim.ControllerPod, claim.ExtendedResources = n.Pods[j].Name, rng.IntN(4) == 0
			} else if other := &n.Pods[rng.IntN(len(n.Pods))]; other.Name != n.Pods[j].Name && other.Template.Namespace == claim.Namespace {
				claim.ReservedFor = append(claim.ReservedFor, other.Name)
			}
			of := &c.Devices.Slices[at]
			device := of.Devices[rng.IntN(len(of.Devices))]
			if taken[of.Pool+"/"+device.Name] && device.Type != "shared" {
				continue
			}
			taken[of.Pool+"/"+device.Name] = true
			claim.Allocation = &api.ClaimAllocation{
				Devices:      []api.DeviceAllocation{{Request: "r0", Driver: of.Driver, Pool: of.Pool, Device: device.Name, Shared: device.Type == "shared"}},
				NodeSelector: &api.NodeSelector{Terms: []api.NodeSelectorTerm{{MatchFields: requirements("metadata.name", n.Name)}}},
			}
			if device.Type == "shared" {
				claim.Allocation.Devices[0].ConsumedCapacity = []api.CapacityRequest{{Name: "memory", Value: 1000}}
			}
			c.Devices.Claims = append(c.Devices.Claims, claim)
		}
	}
	c.Devices.Sort()
	for _, t := range c.Templates {
		if rng.IntN(2) == 0 {
			t.Spec.ResourceClaims = []api.PodResourceClaim{{Name: "r", Template: randomResourceClaimSpec(rng)}}
		}
		if shared := &c.Devices.Claims[rng.IntN(len(c.Devices.Claims))]; rng.IntN(5) == 0 && shared.ControllerPod == "" {
			t.Spec.ResourceClaims = []api.PodResourceClaim{{Name: "shared", ResourceClaimName: shared.Name}}
		}
	}
}

func allocated(c *api.ResourceClaim) []api.DeviceAllocation {
	if c.Allocation == nil {
		return nil
	}
	return c.Allocation.Devices
}
