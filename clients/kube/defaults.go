package kube

import (
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	resourcehelper "k8s.io/component-helpers/resource"
)

// admitted reports whether an object has been admitted by an API server, which gives every object a uid.
func admitted(o metav1.Object) bool {
	return o.GetUID() != ""
}

// defaulted returns a pod with the defaults that the API server sets before admission (pkg/apis/core/v1/defaults.go
// SetDefaults_Pod and SetDefaults_ResourceList, v1.37), as far as decisions depend on them. It does not modify the pod.
func defaulted(p *corev1.Pod) *corev1.Pod {
	p = p.DeepCopy()
	for _, cs := range [][]corev1.Container{p.Spec.Containers, p.Spec.InitContainers} {
		for i := range cs {
			r := &cs[i].Resources
			r.Requests = withDefaults(roundedUp(r.Requests), roundedUp(r.Limits))
			if p.Spec.HostNetwork {
				defaultHostPorts(cs[i].Ports)
			}
		}
	}
	roundedUp(p.Spec.Overhead)
	roundStatus(&p.Status)
	if r := p.Spec.Resources; r != nil {
		r.Requests, r.Limits = roundedUp(r.Requests), roundedUp(r.Limits)
	}
	return p
}

// roundedUp rounds to thousandths, the finest that the API server keeps.
func roundedUp(list corev1.ResourceList) corev1.ResourceList {
	for name, q := range list {
		q.RoundUp(resource.Milli)
		list[name] = q
	}
	return list
}

// roundStatus rounds the amounts of a status as roundedUp does.
func roundStatus(s *corev1.PodStatus) {
	for _, ss := range [][]corev1.ContainerStatus{s.ContainerStatuses, s.InitContainerStatuses} {
		for i := range ss {
			roundedUp(ss[i].AllocatedResources)
			if r := ss[i].Resources; r != nil {
				roundedUp(r.Requests)
			}
		}
	}
	roundedUp(s.AllocatedResources)
	if r := s.Resources; r != nil {
		roundedUp(r.Requests)
	}
}

// withDefaults adds the resources of defaults that list lacks.
func withDefaults(list, defaults corev1.ResourceList) corev1.ResourceList {
	if len(defaults) == 0 {
		return list
	}
	out := maps.Clone(defaults)
	maps.Copy(out, list)
	return out
}

func defaultHostPorts(ports []corev1.ContainerPort) {
	for i := range ports {
		if ports[i].HostPort == 0 {
			ports[i].HostPort = ports[i].ContainerPort
		}
	}
}

// defaultPodLevel completes pod-level requests: cpu and memory with the sums of the containers, then everything with
// pod-level limits, which include the containers' huge page limits. It completes limits where all containers have them. The
// API server does so after plugins have changed the pod and before they validate it (pkg/api/pod/util.go
// DefaultPodLevelResources, v1.37).
func defaultPodLevel(p *corev1.Pod) {
	r := p.Spec.Resources
	if r == nil || len(r.Requests) == 0 && len(r.Limits) == 0 {
		return
	}
	requests, limits := corev1.ResourceList{}, corev1.ResourceList{}
	maps.Copy(limits, r.Limits)
	ofContainers := resourcehelper.AggregateContainerLimits(p, resourcehelper.PodResourcesOptions{})
	for name, q := range ofContainers {
		_, requested := r.Requests[name]
		_, limited := r.Limits[name]
		if strings.HasPrefix(string(name), corev1.ResourceHugePagesPrefix) && !requested && !limited {
			limits[name] = q
		}
	}
	for name, q := range limits {
		if resourcehelper.IsSupportedPodLevelResource(name) {
			requests[name] = q
		}
	}
	for name, q := range resourcehelper.AggregateContainerRequests(p, resourcehelper.PodResourcesOptions{}) {
		if name == corev1.ResourceCPU || name == corev1.ResourceMemory {
			requests[name] = q
		}
	}
	maps.Copy(requests, r.Requests)
	for name, request := range requests {
		_, limited := limits[name]
		if limited || !resourcehelper.IsSupportedPodLevelResource(name) || slices.ContainsFunc(
			slices.Concat(p.Spec.Containers, p.Spec.InitContainers), func(c corev1.Container) bool {
				_, limited := c.Resources.Limits[name]
				return !limited
			}) {
			continue
		}
		if limits[name] = ofContainers[name]; request.Cmp(limits[name]) > 0 {
			limits[name] = request
		}
	}
	r.Requests, r.Limits = requests, limits
}

// namespaceOf returns the namespace of an object.
func namespaceOf(o metav1.Object) string {
	if ns := o.GetNamespace(); ns != "" {
		return ns
	}
	return metav1.NamespaceDefault
}
