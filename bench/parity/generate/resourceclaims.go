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

// deviceClaim draws a claim.
func (d *draw) deviceClaim(namespace, name string) *resourcev1.ResourceClaim {
	claim := &resourcev1.ResourceClaim{ObjectMeta: metav1.ObjectMeta{
		Namespace: namespace, Name: name, UID: types.UID("claim " + namespace + "/" + name),
	}}
	d.deviceClaimSpec(&claim.Spec)
	if d.chance(0.2) {
		d.allocate(claim)
	}
	if d.chance(0.01) {
		claim.DeletionTimestamp, claim.Finalizers = ptr(metav1.Unix(1700000000, 0)), []string{"test/held"}
	}
	d.c.Devices.ResourceClaims = append(d.c.Devices.ResourceClaims, claim)
	return claim
}

func (d *draw) deviceClaimSpec(s *resourcev1.ResourceClaimSpec) {
	var names []string
	requests := pick(d, 1, 1, 1, 2, 2, 3)
	if d.crowded {
		requests = 1
	}
	for i := range requests {
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
		if len(r.FirstAvailable) > 0 && d.chance(0.3) { // a constraint of some of its choices
			names[i] += "/" + pick(d, r.FirstAvailable...).Name
		}
		s.Devices.Requests = append(s.Devices.Requests, r)
	}
	if wanted(s) > 6 {
		s.Devices.Requests, names = s.Devices.Requests[:1], names[:1]
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

// wanted returns how many devices a claim wants.
func wanted(s *resourcev1.ResourceClaimSpec) (sum int) {
	for i := range s.Devices.Requests {
		r, most := &s.Devices.Requests[i], int64(1)
		if r.Exactly != nil {
			most = max(most, r.Exactly.Count)
		}
		for j := range r.FirstAvailable {
			most = max(most, r.FirstAvailable[j].Count)
		}
		sum += int(most)
	}
	return sum
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
		switch d.IntN(4) {
		case 0:
			toleration.Effect = resourcev1.DeviceTaintEffectNoSchedule
		case 1:
			toleration.Operator, toleration.Value = resourcev1.DeviceTolerationOpEqual, "yes"
		case 2:
			toleration.Key = "" // all of them
		}
		out.Tolerations = append(out.Tolerations, toleration)
	}
	if d.chance(0.2) {
		name := pick(d, "memory", "memory", "gpu.test/slots", "gpu.test/memory")
		out.Capacity = &resourcev1.CapacityRequirements{Requests: map[resourcev1.QualifiedName]resource.Quantity{
			resourcev1.QualifiedName(name): resource.MustParse(pick(d, "1", "2", "2Gi", "3Gi", "6Gi", "20Gi", "250m", "1200m")),
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
				consumed := resource.MustParse("2Gi")
				if memory.Value.Cmp(consumed) < 0 && d.chance(0.9) { // a driver may have made a capacity smaller than what claims have of it
					consumed = resource.MustParse(pick(d, "200m", "1"))
				}
				result.ConsumedCapacity = map[resourcev1.QualifiedName]resource.Quantity{"memory": consumed}
			}
		} else if d.isAllocated(&result) {
			continue
		}
		if d.chance(0.08) {
			result.AdminAccess = ptr(true)
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
	if d.chance(0.15) {
		d.conditions(claim)
	}
	if d.chance(0.15) {
		return // kube-scheduler may take its devices
	}
	claim.Status.ReservedFor = []resourcev1.ResourceClaimConsumerReference{
		{Resource: "pods", Name: "earlier", UID: "earlier"}, {Resource: "pods", Name: "earlier-2", UID: "earlier-2"},
	}
	if d.chance(0.1) {
		claim.Status.ReservedFor[1] = resourcev1.ResourceClaimConsumerReference{APIGroup: "scheduling.k8s.io", Resource: "podgroups", Name: "train", UID: "train"}
	}
	if d.chance(0.05) { // as many as the API server accepts
		for i := len(claim.Status.ReservedFor); i < resourcev1.ResourceClaimReservedForMaxSize; i++ {
			name := fmt.Sprintf("earlier-%d", i+1)
			claim.Status.ReservedFor = append(claim.Status.ReservedFor, resourcev1.ResourceClaimConsumerReference{Resource: "pods", Name: name, UID: types.UID(name)})
		}
	}
}

// conditions draws allocated devices that wait for conditions, met or not, for long or without an end.
func (d *draw) conditions(claim *resourcev1.ResourceClaim) {
	if d.chance(0.7) {
		claim.Status.Allocation.AllocationTimestamp = ptr(metav1.Unix(1700000000, 0))
	}
	condition := func(name string) metav1.Condition {
		return metav1.Condition{Type: name, Status: pick(d, metav1.ConditionTrue, metav1.ConditionFalse), Reason: "Drawn", LastTransitionTime: metav1.Unix(1700000000, 0)}
	}
	for i := range claim.Status.Allocation.Devices.Results {
		r := &claim.Status.Allocation.Devices.Results[i]
		if d.chance(0.7) {
			r.BindingConditions, r.BindingFailureConditions = []string{bindReady}, []string{bindFailed}
		}
		if d.chance(0.7) {
			status := resourcev1.AllocatedDeviceStatus{Driver: r.Driver, Pool: r.Pool, Device: r.Device}
			for _, name := range some(d, 0.5, bindReady, bindFailed) {
				status.Conditions = append(status.Conditions, condition(name))
			}
			claim.Status.Devices = append(claim.Status.Devices, status)
		}
	}
}

func (d *draw) isAllocated(as *resourcev1.DeviceRequestAllocationResult) bool {
	return slices.ContainsFunc(d.c.Devices.ResourceClaims, func(c *resourcev1.ResourceClaim) bool {
		return c.Status.Allocation != nil && slices.ContainsFunc(c.Status.Allocation.Devices.Results, func(r resourcev1.DeviceRequestAllocationResult) bool {
			return r.Driver == as.Driver && r.Pool == as.Pool && r.Device == as.Device
		})
	})
}
