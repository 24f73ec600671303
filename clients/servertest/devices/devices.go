// Package devices has objects of devices for tests, as an API server would return them: of the driver Driver, which the class Class selects.
package devices

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// The names of the driver, and of the class of its devices.
const (
	Driver = "gpu.example.com"
	Class  = "gpu"
)

// OfModel is an expression that is true for devices of a model.
func OfModel(model string) string {
	return fmt.Sprintf("device.attributes[%q].model == %q", Driver, model)
}

// NewClass returns the class, which selects the devices of the driver.
func NewClass() *resourcev1.DeviceClass {
	return &resourcev1.DeviceClass{ObjectMeta: metav1.ObjectMeta{Name: Class, UID: "class"}, Spec: resourcev1.DeviceClassSpec{
		Selectors: selectors(fmt.Sprintf("device.driver == %q", Driver)),
	}}
}

func selectors(expressions ...string) (out []resourcev1.DeviceSelector) {
	for _, e := range expressions {
		out = append(out, resourcev1.DeviceSelector{CEL: &resourcev1.CELDeviceSelector{Expression: e}})
	}
	return out
}

// Slice returns the pool of a node, with devices of a model.
func Slice(node, model string, count int) *resourcev1.ResourceSlice {
	out := &resourcev1.ResourceSlice{ObjectMeta: metav1.ObjectMeta{Name: node + "-gpus", UID: types.UID("slice-" + node)}, Spec: resourcev1.ResourceSliceSpec{
		Driver: Driver, NodeName: &node, Pool: resourcev1.ResourcePool{Name: node, Generation: 1, ResourceSliceCount: 1},
	}}
	for i := range count {
		out.Spec.Devices = append(out.Spec.Devices, resourcev1.Device{
			Name: fmt.Sprintf("gpu-%d", i), Attributes: map[resourcev1.QualifiedName]resourcev1.DeviceAttribute{
				"model": {StringValue: &model}, "uuid": {StringValue: new(fmt.Sprintf("%s-%d", node, i))},
			},
		})
	}
	return out
}

// Spec returns the spec of a claim for a number of devices that meet expressions.
func Spec(count int64, expressions ...string) resourcev1.ResourceClaimSpec {
	return resourcev1.ResourceClaimSpec{Devices: resourcev1.DeviceClaim{Requests: []resourcev1.DeviceRequest{{
		Name: "gpu", Exactly: &resourcev1.ExactDeviceRequest{
			DeviceClassName: Class, AllocationMode: resourcev1.DeviceAllocationModeExactCount, Count: count, Selectors: selectors(expressions...),
		},
	}}}}
}

// Claim returns a claim of the namespace default for a number of devices that meet expressions.
func Claim(name string, count int64, expressions ...string) *resourcev1.ResourceClaim {
	return &resourcev1.ResourceClaim{
		ObjectMeta: metav1.ObjectMeta{Namespace: metav1.NamespaceDefault, Name: name, UID: types.UID("claim-" + name)}, Spec: Spec(count, expressions...),
	}
}

// Allocated gives a claim devices of the pool of a node, reserves it for a pod, and returns it.
func Allocated(c *resourcev1.ResourceClaim, node string, pod *corev1.Pod, devices ...string) *resourcev1.ResourceClaim {
	c.Status.Allocation = &resourcev1.AllocationResult{NodeSelector: &corev1.NodeSelector{NodeSelectorTerms: []corev1.NodeSelectorTerm{{
		MatchFields: []corev1.NodeSelectorRequirement{{Key: metav1.ObjectNameField, Operator: corev1.NodeSelectorOpIn, Values: []string{node}}},
	}}}}
	for _, d := range devices {
		c.Status.Allocation.Devices.Results = append(c.Status.Allocation.Devices.Results,
			resourcev1.DeviceRequestAllocationResult{Request: "gpu", Driver: Driver, Pool: node, Device: d})
	}
	if pod != nil {
		c.Status.ReservedFor = []resourcev1.ResourceClaimConsumerReference{{Resource: "pods", Name: pod.Name, UID: pod.UID}}
	}
	return c
}

// TaintRule returns a rule that taints a device of the pool of a node.
func TaintRule(name, node, device string) *resourcev1.DeviceTaintRule {
	return &resourcev1.DeviceTaintRule{ObjectMeta: metav1.ObjectMeta{Name: name, UID: types.UID("rule-" + name)}, Spec: resourcev1.DeviceTaintRuleSpec{
		DeviceSelector: &resourcev1.DeviceTaintSelector{Driver: new(Driver), Pool: &node, Device: &device},
		Taint:          resourcev1.DeviceTaint{Key: "broken", Effect: resourcev1.DeviceTaintEffectNoSchedule},
	}}
}

// Use gives a pod claims, and returns it.
func Use(p *corev1.Pod, claims ...string) *corev1.Pod {
	for _, claim := range claims {
		p.Spec.ResourceClaims = append(p.Spec.ResourceClaims, corev1.PodResourceClaim{Name: claim, ResourceClaimName: &claim})
	}
	return p
}
