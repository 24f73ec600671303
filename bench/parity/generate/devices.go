package generate

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
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
	d.crowded = d.chance(0.02)
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
	big := add("big", `device.driver == "gpu.test"`, `device.attributes["gpu.test"].?model.orValue("") == "big"`)
	if d.chance(0.15) { // the latest class of a resource counts, then its name
		big.Spec.ExtendedResourceName = ptr(gpuResource)
		gpu.CreationTimestamp, big.CreationTimestamp = metav1.Unix(1700000000, 0), metav1.Unix(1700000000+int64(d.IntN(3))-1, 0)
	}
}

// selector draws an expression. Some fail for devices that lack an attribute.
func (d *draw) selector() resourcev1.DeviceSelector {
	if d.chance(0.06) {
		of := pick(d,
			`device.attributes["gpu.test"].model == "big"`, `device.attributes["gpu.test"].index < 2`, `device.capacity["gpu.test"].slots.isGreaterThan(quantity("1"))`,
			`device.attributes["resource.kubernetes.io"].pcieRoot != "p1"`, `device.attributes["gpu.test"].healthy`,
		)
		return resourcev1.DeviceSelector{CEL: &resourcev1.CELDeviceSelector{Expression: of}}
	}
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
	if len(d.c.Nodes) > 0 && d.chance(0.3) {
		field := corev1.NodeSelectorRequirement{Key: "metadata.name", Operator: pick(d, corev1.NodeSelectorOpIn, corev1.NodeSelectorOpNotIn), Values: []string{d.nodeName()}}
		if term.MatchFields = append(term.MatchFields, field); d.chance(0.5) {
			term.MatchExpressions = nil
		}
	}
	return &corev1.NodeSelector{NodeSelectorTerms: []corev1.NodeSelectorTerm{term}}
}

// pool draws the slices of a pool.
func (d *draw) pool(base resourcev1.ResourceSliceSpec, complete func(*resourcev1.Device)) {
	partitioned := d.chance(0.2)
	var made []resourcev1.ResourceSliceSpec
	names := 0
	for range pick(d, 1, 1, 1, 2) {
		spec := *base.DeepCopy()
		devices := d.between(1, 4)
		if d.crowded && d.chance(0.2) {
			devices = d.between(30, 40) // a claim gets 32 at most
		}
		for range devices {
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
		spec.SharedCounters = []resourcev1.CounterSet{d.counterSet("board")}
		if d.chance(0.5) {
			spec.SharedCounters = append(spec.SharedCounters, d.counterSet("fabric"))
		}
		made = append(made, spec)
	}
	count := int64(len(made))
	if d.chance(0.03) {
		count++ // incomplete
	}
	if d.chance(0.06) { // a driver that has published the pool again, or that is about to
		d.generation(made, count)
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

// generation draws an earlier generation of a pool, or a part of a later one.
func (d *draw) generation(made []resourcev1.ResourceSliceSpec, count int64) {
	shift := pick(d, int64(-1), -1, 1)
	for _, spec := range made[:d.between(1, len(made))] {
		of := *spec.DeepCopy()
		of.Pool.Generation, of.Pool.ResourceSliceCount = of.Pool.Generation+shift, count
		if shift > 0 && d.chance(0.5) && len(of.Devices) > 1 {
			of.Devices = of.Devices[1:]
		}
		d.c.Devices.ResourceSlices = append(d.c.Devices.ResourceSlices, &resourcev1.ResourceSlice{ObjectMeta: metav1.ObjectMeta{Name: d.name("c")}, Spec: of})
	}
}

func (d *draw) counterSet(name string) resourcev1.CounterSet {
	return resourcev1.CounterSet{Name: name, Counters: map[string]resourcev1.Counter{
		"memory": {Value: *resource.NewQuantity(int64(d.between(2, 8)), resource.DecimalSI)},
		"cores":  {Value: resource.MustParse(pick(d, "4", "2500m", "8"))},
	}}
}

func (d *draw) consumed() []resourcev1.DeviceCounterConsumption {
	counters := map[string]resourcev1.Counter{"memory": {Value: *resource.NewQuantity(int64(d.between(0, 4)), resource.DecimalSI)}}
	if d.chance(0.5) {
		counters["cores"] = resourcev1.Counter{Value: resource.MustParse(pick(d, "1", "500m", "2"))}
	}
	out := []resourcev1.DeviceCounterConsumption{{CounterSet: "board", Counters: counters}}
	if d.chance(0.15) { // without the counters, the pool is invalid
		out = append(out, resourcev1.DeviceCounterConsumption{CounterSet: "fabric", Counters: map[string]resourcev1.Counter{
			"memory": {Value: *resource.NewQuantity(int64(d.between(0, 3)), resource.DecimalSI)},
		}})
	}
	return out
}
