package generate

import (
	resourcev1 "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

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
		slots := resourcev1.DeviceCapacity{Value: *resource.NewQuantity(int64(d.between(1, 4)), resource.DecimalSI)}
		if out.AllowMultipleAllocations != nil && d.chance(0.4) {
			slots.RequestPolicy = &resourcev1.CapacityRequestPolicy{Default: quantity("1"), ValidValues: []resource.Quantity{*quantity("1"), *quantity("2")}}
			slots.Value.Add(*quantity("1")) // no valid value is more
		}
		out.Capacity["gpu.test/slots"] = slots
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
	if d.chance(0.25) {
		return d.fractionalCapacity()
	}
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

func quantity(s string) *resource.Quantity { return ptr(resource.MustParse(s)) }

// fractionalCapacity draws a capacity with parts of whole numbers in its range. The API server accepts bounds that it compares as whole numbers.
func (d *draw) fractionalCapacity() resourcev1.DeviceCapacity {
	bounds := &resourcev1.CapacityRequestPolicyRange{Min: quantity(pick(d, "200m", "500m", "1")), Step: quantity(pick(d, "100m", "1", "400m"))}
	if d.chance(0.3) {
		bounds.Step = quantity("1500m") // as whole numbers, amounts of 1, 3, 5, ...
	}
	of := &resourcev1.CapacityRequestPolicy{Default: ptr(bounds.Min.DeepCopy()), ValidRange: bounds}
	switch {
	case d.chance(0.4):
		bounds.Max = quantity(pick(d, "1", "2500m", "3"))
	case d.chance(0.2):
		bounds.Step = nil
	}
	return resourcev1.DeviceCapacity{Value: *quantity(pick(d, "3", "4", "3500m")), RequestPolicy: of}
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
