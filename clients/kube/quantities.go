package kube

import (
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	resourcehelper "k8s.io/component-helpers/resource"

	stowagev1 "github.com/stowage-scheduler/stowage/proto/stowage/v1"
)

// Quantity returns an amount of a resource in the contract's unit as Kubernetes states it: memory in powers of 1024.
func Quantity(name corev1.ResourceName, amount int64) resource.Quantity {
	switch {
	case name == corev1.ResourceCPU:
		return *resource.NewMilliQuantity(amount, resource.DecimalSI)
	case name == corev1.ResourceMemory, name == corev1.ResourceEphemeralStorage,
		strings.HasPrefix(string(name), corev1.ResourceHugePagesPrefix):
		return *resource.NewQuantity(amount, resource.BinarySI)
	}
	return *resource.NewQuantity(amount, resource.DecimalSI)
}

// Quantities returns the resources of the contract as Kubernetes states them, nil for nil.
func Quantities(r *stowagev1.Resources) corev1.ResourceList {
	if r == nil {
		return nil
	}
	out := corev1.ResourceList{}
	put := func(name corev1.ResourceName, amount *int64) {
		if amount != nil {
			out[name] = Quantity(name, *amount)
		}
	}
	put(corev1.ResourceCPU, r.CpuMillis)
	put(corev1.ResourceMemory, r.MemoryBytes)
	put(corev1.ResourceEphemeralStorage, r.EphemeralStorageBytes)
	put(corev1.ResourcePods, r.Pods)
	for name, amount := range r.GetScalars() {
		put(corev1.ResourceName(name), &amount)
	}
	return out
}

// Occupies returns what a pod takes of a node's allocatable, pods aside. status is nil for a pod that is not on a node yet.
func Occupies(spec *stowagev1.PodSpec, status *stowagev1.PodResourceStatus) corev1.ResourceList {
	return resourcehelper.PodRequests(amountsOf(spec, status), runningRequests)
}

// amountsOf returns a pod with the amounts that the contract states.
func amountsOf(spec *stowagev1.PodSpec, s *stowagev1.PodResourceStatus) *corev1.Pod {
	out := &corev1.Pod{}
	out.Spec.InitContainers, out.Spec.Containers = amountsIn(spec.GetInitContainers()), amountsIn(spec.GetContainers())
	out.Spec.Overhead = Quantities(spec.GetOverhead())
	if r := spec.GetRequests(); r != nil {
		out.Spec.Resources = &corev1.ResourceRequirements{Requests: Quantities(r)}
	}
	for _, c := range s.GetContainers() {
		o := corev1.ContainerStatus{Name: c.Name, AllocatedResources: Quantities(c.Allocated)}
		if c.Actuated != nil {
			o.Resources = &corev1.ResourceRequirements{Requests: Quantities(c.Actuated)}
		}
		out.Status.ContainerStatuses = append(out.Status.ContainerStatuses, o)
	}
	out.Status.AllocatedResources = Quantities(s.GetAllocated())
	if s.GetResourcesPresent() || s.GetActuated() != nil {
		out.Status.Resources = &corev1.ResourceRequirements{Requests: Quantities(s.GetActuated())}
	}
	if s.GetResizeInfeasible() {
		out.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodResizePending, Reason: corev1.PodReasonInfeasible}}
	}
	return out
}

func amountsIn(cs []*stowagev1.Container) []corev1.Container {
	var out []corev1.Container
	for _, c := range cs {
		o := corev1.Container{Name: c.Name, Resources: corev1.ResourceRequirements{Requests: Quantities(c.Requests)}}
		if c.RestartPolicy == stowagev1.ContainerRestartPolicy_CONTAINER_RESTART_POLICY_ALWAYS {
			always := corev1.ContainerRestartPolicyAlways
			o.RestartPolicy = &always
		}
		out = append(out, o)
	}
	return out
}
