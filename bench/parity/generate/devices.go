package generate

import (
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// The drivers of devices, and the resources that their classes serve.
const (
	gpuDriver   = "gpu.test"
	nicDriver   = "nic.test"
	gpuResource = "gpu.test/card"
	pcieRoot    = "resource.kubernetes.io/pcieRoot"
	bindReady   = "gpu.test/ready"
	bindFailed  = "gpu.test/failed"
)

// devices draws the objects of devices. The nodes must be there.
func (d *draw) devices() {
	d.deviceClasses()
	for _, n := range d.c.Nodes {
		if d.chance(0.75) {
			d.localPool(n, gpuDriver)
		}
		if d.chance(0.35) {
			d.localPool(n, nicDriver)
		}
		if d.chance(0.08) {
			n.Status.Allocatable[gpuResource] = *resource.NewQuantity(int64(d.IntN(3)), resource.DecimalSI)
		}
	}
	for range d.IntN(3) {
		d.networkPool()
	}
	for range d.IntN(3) {
		d.taintRule()
	}
	for i := range d.between(1, 6) {
		d.deviceClaim(d.podNamespace(), fmt.Sprintf("devices-%d", i))
	}
}

func (d *draw) deviceClasses() {
	add := func(name string, expressions ...string) *resourcev1.DeviceClass {
		c := &resourcev1.DeviceClass{ObjectMeta: metav1.ObjectMeta{Name: name}}
		for _, e := range expressions {
			c.Spec.Selectors = append(c.Spec.Selectors, resourcev1.DeviceSelector{CEL: &resourcev1.CELDeviceSelector{Expression: e}})
		}
		if d.chance(0.97) {
			d.c.Devices.DeviceClasses = append(d.c.Devices.DeviceClasses, c)
		}
		return c
	}
	gpu := add("gpu", `device.driver == "gpu.test"`)
	if d.chance(0.6) {
		gpu.Spec.ExtendedResourceName = ptr(gpuResource)
	}
	add("nic", `device.driver == "nic.test"`)
	add("any")
	add("big", `device.driver == "gpu.test"`, `device.attributes["gpu.test"].?model.orValue("") == "big"`)
}

// selector draws an expression. With errors, some fail for devices that lack an attribute.
func (d *draw) selector() resourcev1.DeviceSelector {
	of := pick(d,
		`device.attributes["gpu.test"].?model.orValue("") == "big"`,
		`device.attributes["gpu.test"].?index.orValue(0) > 0`,
		`has(device.attributes["gpu.test"].healthy) && device.attributes["gpu.test"].healthy`,
		`"resource.kubernetes.io" in device.attributes && has(device.attributes["resource.kubernetes.io"].pcieRoot)`,
		`device.allowMultipleAllocations`,
		`!device.allowMultipleAllocations`,
		`has(device.capacity["gpu.test"].memory) && device.capacity["gpu.test"].memory.compareTo(quantity("20Gi")) >= 0`,
		`cel.bind(a, device.attributes["gpu.test"], has(a.version) && a.version.isGreaterThan(semver("1.2.0")))`,
		`device.driver.startsWith("gpu")`,
	)
	return resourcev1.DeviceSelector{CEL: &resourcev1.CELDeviceSelector{Expression: of}}
}

// localPool draws the devices of a driver on a node.
func (d *draw) localPool(n *corev1.Node, driver string) {
	base := resourcev1.ResourceSliceSpec{Driver: driver, NodeName: ptr(n.Name), Pool: resourcev1.ResourcePool{Name: pick(d, n.Name, n.Name, "pool-a-"+n.Name), Generation: 1}}
	d.pool(base, func(*resourcev1.Device) {})
}

// networkPool draws devices that several nodes can use.
func (d *draw) networkPool() {
	base := resourcev1.ResourceSliceSpec{Driver: pick(d, gpuDriver, nicDriver), Pool: resourcev1.ResourcePool{Name: d.name("net"), Generation: 1}}
	of := func(*resourcev1.Device) {}
	switch d.IntN(3) {
	case 0:
		base.AllNodes = ptr(true)
	case 1:
		base.NodeSelector = d.deviceNodes()
	default:
		base.PerDeviceNodeSelection = ptr(true)
		of = func(device *resourcev1.Device) {
			switch d.IntN(3) {
			case 0:
				device.AllNodes = ptr(true)
			case 1:
				device.NodeName = ptr(d.nodeName())
			default:
				device.NodeSelector = d.deviceNodes()
			}
		}
	}
	d.pool(base, of)
}

func (d *draw) deviceNodes() *corev1.NodeSelector {
	values := some(d, 0.6, zones...)
	if len(values) == 0 {
		values = zones[:1]
	}
	term := corev1.NodeSelectorTerm{MatchExpressions: []corev1.NodeSelectorRequirement{
		{Key: corev1.LabelTopologyZone, Operator: corev1.NodeSelectorOpIn, Values: values},
	}}
	return &corev1.NodeSelector{NodeSelectorTerms: []corev1.NodeSelectorTerm{term}}
}

// pool draws the slices of a pool.
func (d *draw) pool(base resourcev1.ResourceSliceSpec, complete func(*resourcev1.Device)) {
	partitioned := d.chance(0.2)
	var made []resourcev1.ResourceSliceSpec
	names := 0
	for range pick(d, 1, 1, 1, 2) {
		spec := *base.DeepCopy()
		for range d.between(1, 4) {
			device := d.device(base.Driver, fmt.Sprintf("dev-%d", names))
			names++
			if partitioned && d.chance(0.8) {
				device.ConsumesCounters = d.consumed()
			}
			complete(&device)
			spec.Devices = append(spec.Devices, device)
		}
		if len(made) > 0 && d.chance(0.05) {
			spec.Devices[0].Name = "dev-0" // the pool is invalid
		}
		made = append(made, spec)
	}
	if partitioned && d.chance(0.95) {
		spec := *base.DeepCopy()
		spec.SharedCounters = []resourcev1.CounterSet{{Name: "board", Counters: map[string]resourcev1.Counter{
			"memory": {Value: *resource.NewQuantity(int64(d.between(2, 8)), resource.DecimalSI)},
			"cores":  {Value: resource.MustParse(pick(d, "4", "2500m", "8"))},
		}}}
		made = append(made, spec)
	}
	count := int64(len(made))
	if d.chance(0.03) {
		count++ // incomplete
	}
	for i, spec := range made {
		spec.Pool.ResourceSliceCount = count
		if d.chance(0.02) {
			spec.Pool.Generation = 2
		}
		name := fmt.Sprintf("%s-%s-%d", pick(d, "a", "b"), base.Driver, i)
		d.c.Devices.ResourceSlices = append(d.c.Devices.ResourceSlices, &resourcev1.ResourceSlice{ObjectMeta: metav1.ObjectMeta{Name: d.name(name)}, Spec: spec})
	}
}

func (d *draw) consumed() []resourcev1.DeviceCounterConsumption {
	counters := map[string]resourcev1.Counter{"memory": {Value: *resource.NewQuantity(int64(d.between(0, 4)), resource.DecimalSI)}}
	if d.chance(0.5) {
		counters["cores"] = resourcev1.Counter{Value: resource.MustParse(pick(d, "1", "500m", "2"))}
	}
	return []resourcev1.DeviceCounterConsumption{{CounterSet: "board", Counters: counters}}
}

func (d *draw) device(driver, name string) resourcev1.Device {
	out := resourcev1.Device{Name: name, Attributes: map[resourcev1.QualifiedName]resourcev1.DeviceAttribute{}, Capacity: map[resourcev1.QualifiedName]resourcev1.DeviceCapacity{}}
	set := func(p float64, name string, a resourcev1.DeviceAttribute) {
		if d.chance(p) {
			out.Attributes[resourcev1.QualifiedName(name)] = a
		}
	}
	full := pick(d, "", "", driver+"/") // with the domain, or without
	set(0.85, full+"model", resourcev1.DeviceAttribute{StringValue: ptr(pick(d, "big", "small"))})
	set(0.7, "index", resourcev1.DeviceAttribute{IntValue: ptr(int64(d.IntN(3)))})
	set(0.5, "healthy", resourcev1.DeviceAttribute{BoolValue: ptr(d.chance(0.7))})
	set(0.5, "version", resourcev1.DeviceAttribute{VersionValue: ptr(pick(d, "1.2.0", "1.3.0", "1.2.0-rc.1"))})
	set(0.6, pcieRoot, resourcev1.DeviceAttribute{StringValue: ptr(pick(d, "p0", "p1"))})
	set(0.9, "uuid", resourcev1.DeviceAttribute{StringValue: ptr(d.name("uuid"))})
	if d.chance(0.3) {
		out.AllowMultipleAllocations = ptr(true)
	}
	if d.chance(0.7) {
		out.Capacity["memory"] = d.deviceCapacity(out.AllowMultipleAllocations != nil)
	}
	if d.chance(0.2) {
		out.Capacity["gpu.test/slots"] = resourcev1.DeviceCapacity{Value: *resource.NewQuantity(int64(d.between(1, 4)), resource.DecimalSI)}
	}
	if d.chance(0.12) {
		out.Taints = append(out.Taints, d.deviceTaint())
	}
	if d.chance(0.06) {
		out.BindsToNode = ptr(true)
	}
	if d.chance(0.06) {
		out.BindingConditions, out.BindingFailureConditions = []string{bindReady}, []string{bindFailed}
	}
	return out
}

func (d *draw) deviceCapacity(shared bool) resourcev1.DeviceCapacity {
	out := resourcev1.DeviceCapacity{Value: resource.MustParse(pick(d, "40Gi", "16Gi", "10Gi"))}
	if !shared || d.chance(0.3) {
		return out
	}
	quantity := func(s string) *resource.Quantity { return ptr(resource.MustParse(s)) }
	out.RequestPolicy = &resourcev1.CapacityRequestPolicy{Default: quantity("4Gi")}
	switch d.IntN(3) {
	case 0:
		out.RequestPolicy.ValidValues = []resource.Quantity{resource.MustParse("2Gi"), resource.MustParse("4Gi"), resource.MustParse("8Gi")}
	case 1:
		out.RequestPolicy.ValidRange = &resourcev1.CapacityRequestPolicyRange{Min: quantity("2Gi"), Step: quantity("1Gi")}
		if d.chance(0.5) {
			out.RequestPolicy.ValidRange.Max = quantity("8Gi")
		}
	}
	return out
}

func (d *draw) deviceTaint() resourcev1.DeviceTaint {
	return resourcev1.DeviceTaint{
		Key: pick(d, "gpu.test/broken", "gpu.test/hot"), Value: pick(d, "", "yes"),
		Effect:    pick(d, resourcev1.DeviceTaintEffectNoSchedule, resourcev1.DeviceTaintEffectNoExecute, resourcev1.DeviceTaintEffectNone),
		TimeAdded: ptr(metav1.Unix(1700000000, 0)),
	}
}

func (d *draw) taintRule() {
	rule := &resourcev1.DeviceTaintRule{ObjectMeta: metav1.ObjectMeta{Name: d.name("rule")}}
	rule.Spec.Taint = d.deviceTaint()
	selector := &resourcev1.DeviceTaintSelector{}
	if d.chance(0.5) {
		selector.Driver = ptr(pick(d, gpuDriver, nicDriver))
	}
	if d.chance(0.6) && len(d.c.Nodes) > 0 {
		selector.Pool = ptr(d.nodeName())
	}
	if d.chance(0.8) {
		selector.Device = ptr(pick(d, "dev-0", "dev-1"))
	}
	if *selector != (resourcev1.DeviceTaintSelector{}) {
		rule.Spec.DeviceSelector = selector
	}
	d.c.Devices.DeviceTaintRules = append(d.c.Devices.DeviceTaintRules, rule)
}

// deviceClaim draws a claim.
func (d *draw) deviceClaim(namespace, name string) *resourcev1.ResourceClaim {
	claim := &resourcev1.ResourceClaim{ObjectMeta: metav1.ObjectMeta{
		Namespace: namespace, Name: name, UID: types.UID("claim " + namespace + "/" + name),
	}}
	d.deviceClaimSpec(&claim.Spec)
	if d.chance(0.2) {
		d.allocate(claim)
	}
	d.c.Devices.ResourceClaims = append(d.c.Devices.ResourceClaims, claim)
	return claim
}

func (d *draw) deviceClaimSpec(s *resourcev1.ResourceClaimSpec) {
	var names []string
	for i := range pick(d, 1, 1, 1, 2, 2, 3) {
		r := resourcev1.DeviceRequest{Name: fmt.Sprintf("r%d", i)}
		if d.chance(0.2) {
			for j := range d.between(1, 3) {
				e := d.exactRequest()
				r.FirstAvailable = append(r.FirstAvailable, resourcev1.DeviceSubRequest{
					Name: fmt.Sprintf("s%d", j), DeviceClassName: e.DeviceClassName, Selectors: e.Selectors, AllocationMode: e.AllocationMode,
					Count: e.Count, Tolerations: e.Tolerations, Capacity: e.Capacity,
				})
			}
		} else {
			r.Exactly = d.exactRequest()
			if d.chance(0.05) {
				r.Exactly.AdminAccess = ptr(true)
			}
		}
		names = append(names, r.Name)
		s.Devices.Requests = append(s.Devices.Requests, r)
	}
	for range pick(d, 0, 0, 0, 1, 1, 2) {
		c := resourcev1.DeviceConstraint{Requests: some(d, 0.4, names...)}
		of := ptr(resourcev1.FullyQualifiedName(pick(d, pcieRoot, gpuDriver+"/model", gpuDriver+"/index", gpuDriver+"/version", gpuDriver+"/healthy", gpuDriver+"/uuid")))
		if d.chance(0.7) {
			c.MatchAttribute = of
		} else {
			c.DistinctAttribute = of
		}
		s.Devices.Constraints = append(s.Devices.Constraints, c)
	}
}

func (d *draw) exactRequest() *resourcev1.ExactDeviceRequest {
	out := &resourcev1.ExactDeviceRequest{DeviceClassName: pick(d, "gpu", "gpu", "gpu", "nic", "any", "big")}
	if d.chance(0.01) {
		out.DeviceClassName = "gone"
	}
	for range pick(d, 0, 0, 0, 1, 1, 2) {
		out.Selectors = append(out.Selectors, d.selector())
	}
	switch x := d.Float64(); {
	case x < 0.1:
		out.AllocationMode = resourcev1.DeviceAllocationModeAll
	case x < 0.5:
		out.AllocationMode, out.Count = resourcev1.DeviceAllocationModeExactCount, int64(pick(d, 1, 1, 2, 2, 3))
	}
	if d.chance(0.2) {
		toleration := resourcev1.DeviceToleration{Key: "gpu.test/broken", Operator: resourcev1.DeviceTolerationOpExists}
		switch d.IntN(3) {
		case 0:
			toleration.Effect = resourcev1.DeviceTaintEffectNoSchedule
		case 1:
			toleration.Operator, toleration.Value = resourcev1.DeviceTolerationOpEqual, "yes"
		}
		out.Tolerations = append(out.Tolerations, toleration)
	}
	if d.chance(0.2) {
		name := pick(d, "memory", "memory", "gpu.test/slots", "gpu.test/memory")
		out.Capacity = &resourcev1.CapacityRequirements{Requests: map[resourcev1.QualifiedName]resource.Quantity{
			resourcev1.QualifiedName(name): resource.MustParse(pick(d, "1", "2", "2Gi", "3Gi", "6Gi", "20Gi")),
		}}
	}
	return out
}

// allocate gives a claim devices that no other claim has.
func (d *draw) allocate(claim *resourcev1.ResourceClaim) {
	if len(d.c.Devices.ResourceSlices) == 0 {
		return
	}
	slice := pick(d, d.c.Devices.ResourceSlices...)
	allocation := &resourcev1.AllocationResult{}
	request := claim.Spec.Devices.Requests[0]
	for i := range slice.Spec.Devices {
		device := &slice.Spec.Devices[i]
		result := resourcev1.DeviceRequestAllocationResult{
			Request: request.Name, Driver: slice.Spec.Driver, Pool: slice.Spec.Pool.Name, Device: device.Name,
		}
		if len(request.FirstAvailable) > 0 {
			result.Request += "/" + request.FirstAvailable[0].Name
		}
		if device.AllowMultipleAllocations != nil {
			result.ShareID = ptr(types.UID(fmt.Sprintf("00000000-0000-0000-0000-%012d", d.IntN(1e9))))
			if memory, ok := device.Capacity["memory"]; ok {
				_ = memory
				result.ConsumedCapacity = map[resourcev1.QualifiedName]resource.Quantity{"memory": resource.MustParse("2Gi")}
			}
		} else if d.isAllocated(&result) {
			continue
		}
		if d.chance(0.6) {
			allocation.Devices.Results = append(allocation.Devices.Results, result)
		}
	}
	if len(allocation.Devices.Results) == 0 {
		return
	}
	switch {
	case slice.Spec.NodeName != nil:
		allocation.NodeSelector = &corev1.NodeSelector{NodeSelectorTerms: []corev1.NodeSelectorTerm{{MatchFields: []corev1.NodeSelectorRequirement{
			{Key: "metadata.name", Operator: corev1.NodeSelectorOpIn, Values: []string{*slice.Spec.NodeName}},
		}}}}
	case slice.Spec.NodeSelector != nil:
		allocation.NodeSelector = slice.Spec.NodeSelector.DeepCopy()
	}
	claim.Status.Allocation = allocation
	claim.Status.ReservedFor = []resourcev1.ResourceClaimConsumerReference{
		{Resource: "pods", Name: "earlier", UID: "earlier"}, {Resource: "pods", Name: "earlier-2", UID: "earlier-2"},
	}
}

func (d *draw) isAllocated(as *resourcev1.DeviceRequestAllocationResult) bool {
	return slices.ContainsFunc(d.c.Devices.ResourceClaims, func(c *resourcev1.ResourceClaim) bool {
		return c.Status.Allocation != nil && slices.ContainsFunc(c.Status.Allocation.Devices.Results, func(r resourcev1.DeviceRequestAllocationResult) bool {
			return r.Driver == as.Driver && r.Pool == as.Pool && r.Device == as.Device
		})
	})
}

// claimDevices gives a pending pod claims of devices, and extended resources.
func (d *draw) claimDevices(pod *corev1.Pod) {
	if d.chance(0.2) {
		name := corev1.ResourceName(pick(d, gpuResource, gpuResource, resourcev1.ResourceDeviceClassPrefix+"nic"))
		for i := range pod.Spec.Containers {
			if d.chance(0.6) {
				d.requestDevices(&pod.Spec.Containers[i], name)
			}
		}
		for i := range pod.Spec.InitContainers {
			if d.chance(0.5) {
				d.requestDevices(&pod.Spec.InitContainers[i], name)
			}
		}
	}
	if d.chance(0.15) {
		return
	}
	for i := range pick(d, 1, 1, 1, 2, 3) {
		of := corev1.PodResourceClaim{Name: fmt.Sprintf("c%d", i), ResourceClaimName: ptr(d.claimedName(pod.Namespace))}
		pod.Spec.ResourceClaims = append(pod.Spec.ResourceClaims, of)
	}
}

func (d *draw) requestDevices(c *corev1.Container, name corev1.ResourceName) {
	amount := *resource.NewQuantity(int64(pick(d, 1, 1, 2)), resource.DecimalSI)
	if c.Resources.Requests == nil {
		c.Resources.Requests = corev1.ResourceList{}
	}
	if c.Resources.Limits == nil {
		c.Resources.Limits = corev1.ResourceList{}
	}
	c.Resources.Requests[name], c.Resources.Limits[name] = amount, amount
}

// claimedName returns the name of a claim of a namespace, of one that exists with few exceptions.
func (d *draw) claimedName(namespace string) string {
	var names []string
	for _, c := range d.c.Devices.ResourceClaims {
		if c.Namespace == namespace {
			names = append(names, c.Name)
		}
	}
	switch {
	case d.chance(0.01):
		return "gone"
	case len(names) == 0 || d.chance(0.5):
		return d.deviceClaim(namespace, d.name("own-devices")).Name
	}
	return pick(d, names...)
}

// claimsDevices draws whether a pod has claims of devices. Profiles without them draw nothing.
func (d *draw) claimsDevices() bool { return d.likelihood[devicing] > 0 && d.has(devicing) }
