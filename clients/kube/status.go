package kube

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/util/validation/field"
	resourcehelper "k8s.io/component-helpers/resource"

	stowagev1 "github.com/stowage-scheduler/stowage/proto/stowage/v1"
)

// resourceStatus converts what the status says of the pod's resources. The kubelet repeats the spec there all the time,
// so it is nil unless it changes what the pod occupies; else no two pods could be counted together.
func (c *converter) resourceStatus(p *corev1.Pod) *stowagev1.PodResourceStatus {
	if !statusMatters(p) {
		return nil
	}
	path := field.NewPath("status")
	out := &stowagev1.PodResourceStatus{ResizeInfeasible: resourcehelper.IsPodResizeInfeasible(p)}
	out.Containers = append(c.containerStatuses(p.Status.ContainerStatuses, path.Child("containerStatuses")),
		c.containerStatuses(p.Status.InitContainerStatuses, path.Child("initContainerStatuses"))...)
	// kube-scheduler looks at allocatedResources only where resources is there too, and takes resources that says
	// nothing for a statement that the pod has nothing.
	if r := p.Status.Resources; r != nil {
		out.Allocated = c.stated(p.Status.AllocatedResources, path.Child("allocatedResources"))
		out.Actuated = c.stated(r.Requests, path.Child("resources", "requests"))
		if out.Allocated == nil && out.Actuated == nil {
			out.Actuated = &stowagev1.Resources{}
		}
	}
	return out
}

func (c *converter) containerStatuses(ss []corev1.ContainerStatus, path *field.Path) []*stowagev1.ContainerResourceStatus {
	var out []*stowagev1.ContainerResourceStatus
	seen := map[string]bool{}
	for i := range ss {
		s, at := &ss[i], path.Index(i)
		if seen[s.Name] {
			continue
		}
		seen[s.Name] = true
		o := &stowagev1.ContainerResourceStatus{
			Name:      s.Name,
			Allocated: c.stated(s.AllocatedResources, at.Child("allocatedResources")),
		}
		if s.Resources != nil {
			o.Actuated = c.stated(s.Resources.Requests, at.Child("resources", "requests"))
		}
		if o.Allocated != nil || o.Actuated != nil {
			out = append(out, o)
		}
	}
	return out
}

// statusMatters asks kube-scheduler's own arithmetic whether the status changes what the pod occupies, as requested and
// with a stand-in for requests that are missing. The stand-in's size does not matter: it only has to be there.
func statusMatters(p *corev1.Pod) bool {
	if statusRepeatsSpec(p) {
		return false
	}
	missing := corev1.ResourceList{
		corev1.ResourceCPU:    *resource.NewMilliQuantity(100, resource.DecimalSI),
		corev1.ResourceMemory: *resource.NewQuantity(200<<20, resource.BinarySI),
	}
	for _, standIn := range []corev1.ResourceList{nil, missing} {
		o := resourcehelper.PodResourcesOptions{NonMissingContainerRequests: standIn}
		spec := resourcehelper.PodRequests(p, o)
		o.UseStatusResources, o.InPlacePodLevelResourcesVerticalScalingEnabled = true, true
		if !sameResources(spec, resourcehelper.PodRequests(p, o)) {
			return true
		}
	}
	return false
}

// statusRepeatsSpec tells of most pods, much faster, that the status changes nothing: where each container has allocated
// and actuated what it requests, so has the pod.
func statusRepeatsSpec(p *corev1.Pod) bool {
	if resourcehelper.IsPodResizeInfeasible(p) || p.Status.Resources != nil {
		return false
	}
	requests := func(name string) (corev1.ResourceList, bool) {
		for _, cs := range [][]corev1.Container{p.Spec.Containers, p.Spec.InitContainers} {
			for i := range cs {
				if cs[i].Name == name {
					return cs[i].Resources.Requests, true
				}
			}
		}
		return nil, false
	}
	for _, ss := range [][]corev1.ContainerStatus{p.Status.ContainerStatuses, p.Status.InitContainerStatuses} {
		for i := range ss {
			spec, ok := requests(ss[i].Name)
			if !ok {
				continue
			}
			if a := ss[i].AllocatedResources; a != nil && !sameResources(spec, a) {
				return false
			}
			if r := ss[i].Resources; r != nil && r.Requests != nil && !sameResources(spec, r.Requests) {
				return false
			}
		}
	}
	return true
}

func sameResources(a, b corev1.ResourceList) bool {
	if len(a) != len(b) {
		return false
	}
	for name, q := range a {
		other, ok := b[name]
		if !ok || q.Cmp(other) != 0 {
			return false
		}
	}
	return true
}
