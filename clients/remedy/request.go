package remedy

import (
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	resourcehelper "k8s.io/component-helpers/resource"

	"github.com/stowage-scheduler/stowage/clients/report"
	stowagev1 "github.com/stowage-scheduler/stowage/proto/stowage/v1"
)

// editRequest lowers the request of the only place that decides about it: the pod, a container or an init container. A limit of an
// extended resource, which equals the request, follows.
func editRequest(spec *corev1.PodSpec, r *stowagev1.LoweredRequest) error {
	to, err := resource.ParseQuantity(report.Quantity(r.GetResource(), r.GetTo()))
	if err != nil {
		return err
	}
	name := corev1.ResourceName(r.GetResource())
	var lowered []*corev1.PodSpec
	for _, place := range places(spec) {
		if after := spec.DeepCopy(); lower(place(after), name, spec, to) && to.Cmp(requestOf(after, name)) == 0 && covers(after, name) {
			lowered = append(lowered, after)
		}
	}
	if len(lowered) != 1 || len(spec.Overhead) > 0 || spec.RuntimeClassName != nil { // which may add an overhead
		return fmt.Errorf("the request of %s is in several places: lower their sum to %s", name, to.String())
	}
	*spec = *lowered[0]
	return nil
}

// places are where a spec may request resources.
func places(spec *corev1.PodSpec) []func(*corev1.PodSpec) *corev1.ResourceRequirements {
	var out []func(*corev1.PodSpec) *corev1.ResourceRequirements
	if spec.Resources != nil {
		out = append(out, func(s *corev1.PodSpec) *corev1.ResourceRequirements { return s.Resources })
	}
	for i := range spec.Containers {
		out = append(out, func(s *corev1.PodSpec) *corev1.ResourceRequirements { return &s.Containers[i].Resources })
	}
	for i := range spec.InitContainers {
		out = append(out, func(s *corev1.PodSpec) *corev1.ResourceRequirements { return &s.InitContainers[i].Resources })
	}
	return out
}

// lower lowers a request by as much as that of the pod is to be lowered. It reports whether it could.
func lower(at *corev1.ResourceRequirements, name corev1.ResourceName, spec *corev1.PodSpec, to resource.Quantity) bool {
	is, ok := at.Requests[name]
	if !ok && len(spec.Containers) > 1 {
		return false
	}
	less := is.DeepCopy()
	less.Sub(requestOf(spec, name))
	less.Add(to)
	if less.Sign() <= 0 {
		return false
	}
	less, err := resource.ParseQuantity(less.String())
	if err != nil {
		return false
	}
	if at.Requests == nil {
		at.Requests = corev1.ResourceList{}
	}
	at.Requests[name] = less
	if _, limited := at.Limits[name]; limited && extended(string(name)) {
		at.Limits[name] = less
	}
	return true
}

// covers reports whether the request of a pod, if it has one, is at least that of its containers, as the API server demands.
func covers(spec *corev1.PodSpec, name corev1.ResourceName) bool {
	if spec.Resources == nil {
		return true
	}
	whole, ok := spec.Resources.Requests[name]
	containers := resourcehelper.AggregateContainerRequests(&corev1.Pod{Spec: *spec}, resourcehelper.PodResourcesOptions{})[name]
	return !ok || whole.Cmp(containers) >= 0
}

// requestOf is what kube-scheduler takes for a pod's request.
func requestOf(spec *corev1.PodSpec, name corev1.ResourceName) resource.Quantity {
	return resourcehelper.PodRequests(&corev1.Pod{Spec: *spec}, resourcehelper.PodResourcesOptions{})[name]
}

// extended reports whether a resource's request has to equal its limit: it has a prefix that is not Kubernetes' own, or is of huge
// pages.
func extended(resource string) bool {
	prefix, _, prefixed := strings.Cut(resource, "/")
	return strings.HasPrefix(resource, corev1.ResourceHugePagesPrefix) || prefixed && prefix != "kubernetes.io"
}
