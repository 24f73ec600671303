package skew

import (
	"strings"

	corev1 "k8s.io/api/core/v1"
)

// This file mirrors k8s.io/component-helpers/resource/helpers.go, v1.37. Other releases of component-helpers have other sums for pods that are
// resized.

// RequestOptions are the options of PodRequests.
type RequestOptions struct {
	// Status takes what is allocated and actuated from the pod's status, of containers and of the pod as a whole.
	Status bool
	// Missing are the requests of containers that have none for these resources.
	Missing corev1.ResourceList
	// ExcludeOverhead leaves out the pod's overhead.
	ExcludeOverhead bool
}

// IsPodLevelResource reports whether a pod can request a resource as a whole.
func IsPodLevelResource(name corev1.ResourceName) bool {
	return name == corev1.ResourceCPU || name == corev1.ResourceMemory || strings.HasPrefix(string(name), corev1.ResourceHugePagesPrefix)
}

// IsPodResizeInfeasible reports whether the kubelet rejected the resize of a pod.
func IsPodResizeInfeasible(p *corev1.Pod) bool {
	for i := range p.Status.Conditions {
		if p.Status.Conditions[i].Type == corev1.PodResizePending {
			return p.Status.Conditions[i].Reason == corev1.PodReasonInfeasible
		}
	}
	return false
}

// PodRequests returns what a pod requests, with its overhead.
func PodRequests(p *corev1.Pod, o RequestOptions) corev1.ResourceList {
	out := containerRequests(p, o)
	if r := p.Spec.Resources; r != nil && hasPodLevel(r.Requests) {
		ofPod := r.Requests
		if allocated, actuated := PodStatusResources(&p.Status); o.Status && actuated != nil {
			if IsPodResizeInfeasible(p) {
				ofPod = nil
			}
			ofPod = most(ofPod, actuated.Requests, allocated)
		}
		for name, q := range ofPod {
			if IsPodLevelResource(name) {
				out[name] = q
			}
		}
	}
	if !o.ExcludeOverhead {
		add(out, p.Spec.Overhead)
	}
	return out
}

func hasPodLevel(list corev1.ResourceList) bool {
	for name := range list {
		if IsPodLevelResource(name) {
			return true
		}
	}
	return false
}

// ContainerRequests returns the sum of the requests in the containers' spec.
func ContainerRequests(p *corev1.Pod) corev1.ResourceList {
	return containerRequests(p, RequestOptions{})
}

// ContainerLimits returns the sum of the limits in the containers' spec.
func ContainerLimits(p *corev1.Pod) corev1.ResourceList {
	return sum(p, RequestOptions{}, func(c *corev1.Container, _ *corev1.ContainerStatus) corev1.ResourceList { return c.Resources.Limits })
}

func containerRequests(p *corev1.Pod, o RequestOptions) corev1.ResourceList {
	spec := sum(p, o, func(c *corev1.Container, _ *corev1.ContainerStatus) corev1.ResourceList { return c.Resources.Requests })
	if !o.Status {
		return spec
	}
	infeasible := IsPodResizeInfeasible(p)
	var allocated, actuated corev1.ResourceList
	if all, whole := PodStatusResources(&p.Status); all != nil && whole != nil && whole.Requests != nil {
		allocated, actuated = all, whole.Requests
	} else {
		allocatedOf := func(c *corev1.Container, s *corev1.ContainerStatus) corev1.ResourceList {
			switch {
			case s != nil && s.AllocatedResources != nil:
				return s.AllocatedResources
			case infeasible:
				return nil
			}
			return c.Resources.Requests
		}
		allocated = sum(p, o, allocatedOf)
		actuated = sum(p, o, func(c *corev1.Container, s *corev1.ContainerStatus) corev1.ResourceList {
			if s != nil && s.Resources != nil && s.Resources.Requests != nil {
				return s.Resources.Requests
			}
			return allocatedOf(c, s)
		})
	}
	if infeasible {
		return most(actuated, allocated)
	}
	return most(spec, actuated, allocated)
}

// sum sums the resources of containers: sidecars count beside the containers, and each other init container beside the sidecars before it.
func sum(p *corev1.Pod, o RequestOptions, of func(*corev1.Container, *corev1.ContainerStatus) corev1.ResourceList) corev1.ResourceList {
	resources := func(c *corev1.Container) corev1.ResourceList {
		var s *corev1.ContainerStatus
		if o.Status {
			s = statusOf(p, c.Name)
		}
		list := of(c, s)
		if len(o.Missing) == 0 {
			return list
		}
		all := corev1.ResourceList{}
		add(all, o.Missing)
		for name, q := range list {
			all[name] = q.DeepCopy()
		}
		return all
	}
	out, init, sidecars := corev1.ResourceList{}, corev1.ResourceList{}, corev1.ResourceList{}
	for i := range p.Spec.Containers {
		add(out, resources(&p.Spec.Containers[i]))
	}
	for i := range p.Spec.InitContainers {
		c := &p.Spec.InitContainers[i]
		list := resources(c)
		if c.RestartPolicy != nil && *c.RestartPolicy == corev1.ContainerRestartPolicyAlways {
			add(out, list)
			add(sidecars, list)
			raise(init, sidecars)
			continue
		}
		beside := corev1.ResourceList{}
		add(beside, list)
		add(beside, sidecars)
		raise(init, beside)
	}
	raise(out, init)
	return out
}

func statusOf(p *corev1.Pod, container string) *corev1.ContainerStatus {
	for _, ss := range [][]corev1.ContainerStatus{p.Status.ContainerStatuses, p.Status.InitContainerStatuses} {
		for i := range ss {
			if ss[i].Name == container {
				return &ss[i]
			}
		}
	}
	return nil
}

// add adds amounts to a list.
func add(list, amounts corev1.ResourceList) {
	for name, q := range amounts {
		if had, ok := list[name]; ok {
			had.Add(q)
			list[name] = had
		} else {
			list[name] = q.DeepCopy()
		}
	}
}

// raise raises a list to amounts that are larger.
func raise(list, amounts corev1.ResourceList) {
	for name, q := range amounts {
		if had, ok := list[name]; !ok || q.Cmp(had) > 0 {
			list[name] = q.DeepCopy()
		}
	}
}

// most returns the largest amounts of lists.
func most(lists ...corev1.ResourceList) corev1.ResourceList {
	out := corev1.ResourceList{}
	for _, list := range lists {
		raise(out, list)
	}
	return out
}
