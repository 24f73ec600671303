package admission

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/stowage-scheduler/stowage/clients/kube/skew"
)

// Defaulted returns a pod with the defaults that the API server sets before admission (pkg/apis/core/v1/defaults.go
// SetDefaults_Pod and SetDefaults_ResourceList, v1.37), as far as decisions depend on them. It does not modify the pod.
func Defaulted(p *corev1.Pod) *corev1.Pod {
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
	allocated, actuated := skew.PodStatusResources(s)
	roundedUp(allocated)
	if actuated != nil {
		roundedUp(actuated.Requests)
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
	ofContainers := skew.ContainerLimits(p)
	for name, q := range ofContainers {
		_, requested := r.Requests[name]
		_, limited := r.Limits[name]
		if strings.HasPrefix(string(name), corev1.ResourceHugePagesPrefix) && !requested && !limited {
			limits[name] = q
		}
	}
	for name, q := range limits {
		if skew.IsPodLevelResource(name) {
			requests[name] = q
		}
	}
	for name, q := range skew.ContainerRequests(p) {
		if name == corev1.ResourceCPU || name == corev1.ResourceMemory {
			requests[name] = q
		}
	}
	maps.Copy(requests, r.Requests)
	for name, request := range requests {
		_, limited := limits[name]
		if limited || !skew.IsPodLevelResource(name) || slices.ContainsFunc(
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

// defaultLimits sets the defaults of a LimitRange's item, and rounds its amounts (pkg/apis/core/v1/defaults.go
// SetDefaults_LimitRangeItem and SetDefaults_ResourceList, v1.37).
func defaultLimits(l *corev1.LimitRangeItem) {
	for _, list := range []corev1.ResourceList{l.Max, l.Min, l.Default, l.DefaultRequest, l.MaxLimitRequestRatio} {
		roundedUp(list)
	}
	if l.Type != corev1.LimitTypeContainer {
		return
	}
	l.Default = withDefaults(l.Default, l.Max)
	l.DefaultRequest = withDefaults(withDefaults(l.DefaultRequest, l.Default), l.Min)
}

// setLimits sets the limits and requests that containers lack (plugin/pkg/admission/limitranger PodMutateLimitFunc, v1.37).
func setLimits(l *corev1.LimitRange, s *corev1.PodSpec) {
	limits, requests := corev1.ResourceList{}, corev1.ResourceList{}
	for _, item := range l.Spec.Limits {
		if item.Type == corev1.LimitTypeContainer {
			maps.Copy(limits, item.Default)
			maps.Copy(requests, item.DefaultRequest)
		}
	}
	for _, containers := range [][]corev1.Container{s.Containers, s.InitContainers} {
		for i := range containers {
			r := &containers[i].Resources
			r.Limits, r.Requests = withDefaults(r.Limits, limits), withDefaults(r.Requests, requests)
		}
	}
}

// checkLimits returns why a pod is beyond the bounds of a LimitRange (plugin/pkg/admission/limitranger
// PodValidateLimitFunc, v1.37).
func checkLimits(l *corev1.LimitRange, p *corev1.Pod) []error {
	var errs []error
	check := func(item *corev1.LimitRangeItem, requests, limits corev1.ResourceList) {
		b := bounded{of: item.Type, requests: requests, limits: limits}
		errs = append(errs, each(item.Min, b.minimum)...)
		errs = append(errs, each(item.Max, b.maximum)...)
		errs = append(errs, each(item.MaxLimitRequestRatio, b.ratio)...)
	}
	for i := range l.Spec.Limits {
		switch item := &l.Spec.Limits[i]; item.Type {
		case corev1.LimitTypeContainer:
			for _, c := range slices.Concat(p.Spec.Containers, p.Spec.InitContainers) {
				check(item, c.Resources.Requests, c.Resources.Limits)
			}
		case corev1.LimitTypePod:
			requests := skew.ContainerRequests(p)
			limits := skew.ContainerLimits(p)
			for _, name := range []corev1.ResourceName{corev1.ResourceCPU, corev1.ResourceMemory} {
				if r := p.Spec.Resources; r != nil {
					replaced(requests, r.Requests, name)
					replaced(limits, r.Limits, name)
				}
			}
			check(item, requests, limits)
		}
	}
	return errs
}

// replaced takes a resource from another list, if that has it.
func replaced(list, from corev1.ResourceList, name corev1.ResourceName) {
	if q, ok := from[name]; ok {
		list[name] = q
	}
}

// bounded is the resources of a container or a pod that a LimitRange bounds.
type bounded struct {
	of               corev1.LimitType
	requests, limits corev1.ResourceList
}

func each(bounds corev1.ResourceList, check func(corev1.ResourceName, resource.Quantity) error) []error {
	var errs []error
	for _, name := range slices.Sorted(maps.Keys(bounds)) {
		if err := check(name, bounds[name]); err != nil {
			errs = append(errs, err)
		}
	}
	return errs
}

// values returns amounts that compare as the plugin compares them (requestLimitEnforcedValues): in thousandths, or in whole
// units if there are too many thousandths.
func (b bounded) values(name corev1.ResourceName, enforced resource.Quantity) (request, limit, bound int64) {
	r, l := b.requests[name], b.limits[name]
	request, limit, bound = r.Value(), l.Value(), enforced.Value()
	if max(request, limit, bound) <= resource.MaxMilliValue {
		return r.MilliValue(), l.MilliValue(), enforced.MilliValue()
	}
	return request, limit, bound
}

func (b bounded) minimum(name corev1.ResourceName, enforced resource.Quantity) error {
	request, requested := b.requests[name]
	limit, limited := b.limits[name]
	requestValue, limitValue, bound := b.values(name, enforced)
	switch prefix := fmt.Sprintf("minimum %s usage per %s is %s", name, b.of, enforced.String()); {
	case !requested:
		return fmt.Errorf("%s.  No request is specified", prefix)
	case requestValue < bound:
		return fmt.Errorf("%s, but request is %s", prefix, request.String())
	case limited && limitValue < bound:
		return fmt.Errorf("%s, but limit is %s", prefix, limit.String())
	}
	return nil
}

func (b bounded) maximum(name corev1.ResourceName, enforced resource.Quantity) error {
	request, requested := b.requests[name]
	limit, limited := b.limits[name]
	requestValue, limitValue, bound := b.values(name, enforced)
	switch prefix := fmt.Sprintf("maximum %s usage per %s is %s", name, b.of, enforced.String()); {
	case !limited:
		return fmt.Errorf("%s.  No limit is specified", prefix)
	case limitValue > bound:
		return fmt.Errorf("%s, but limit is %s", prefix, limit.String())
	case requested && requestValue > bound:
		return fmt.Errorf("%s, but request is %s", prefix, request.String())
	}
	return nil
}

func (b bounded) ratio(name corev1.ResourceName, enforced resource.Quantity) error {
	request, limit, _ := b.values(name, enforced)
	switch prefix := fmt.Sprintf("%s max limit to request ratio per %s is %s", name, b.of, enforced.String()); {
	case request == 0:
		return fmt.Errorf("%s, but no request is specified or request is 0", prefix)
	case limit == 0:
		return fmt.Errorf("%s, but no limit is specified or limit is 0", prefix)
	default:
		ratio := float64(limit) / float64(request)
		compared, bound := ratio, float64(enforced.Value())
		if enforced.Value() <= resource.MaxMilliValue {
			compared, bound = ratio*1000, float64(enforced.MilliValue())
		}
		if compared > bound {
			return fmt.Errorf("%s, but provided ratio is %f", prefix, ratio)
		}
	}
	return nil
}
