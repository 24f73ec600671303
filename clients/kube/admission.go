package kube

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
	nodev1 "k8s.io/api/node/v1"
	schedulingv1 "k8s.io/api/scheduling/v1"
	apiequality "k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/resource"
	utilerrors "k8s.io/apimachinery/pkg/util/errors"
	resourcehelper "k8s.io/component-helpers/resource"
)

// admission has the objects that the API server's admission plugins read when a pod is created. The zero value has none.
type admission struct {
	limitRanges     map[string][]*corev1.LimitRange // by namespace
	priorityClasses map[string]*schedulingv1.PriorityClass
	defaultPriority *schedulingv1.PriorityClass // the global default
	runtimeClasses  map[string]*nodev1.RuntimeClass
}

// AddLimitRange adds a LimitRange. It sets requests of containers without a uid in its namespace, and rejects pods beyond
// its bounds.
func (b *Builder) AddLimitRange(l *corev1.LimitRange) error {
	if err := b.once("LimitRange", namespaceOf(l), l.Name); err != nil {
		return err
	}
	l = l.DeepCopy()
	for i := range l.Spec.Limits {
		defaultLimits(&l.Spec.Limits[i])
	}
	in := b.admission.limitRanges[namespaceOf(l)]
	at, _ := slices.BinarySearchFunc(in, l.Name, func(x *corev1.LimitRange, name string) int { return cmp.Compare(x.Name, name) })
	b.admission.limitRanges[namespaceOf(l)] = slices.Insert(in, at, l)
	return nil
}

// AddPriorityClass adds a PriorityClass. It sets the priority of pods without a uid that name it.
func (b *Builder) AddPriorityClass(c *schedulingv1.PriorityClass) error {
	if err := b.once("PriorityClass", "", c.Name); err != nil {
		return err
	}
	c = c.DeepCopy()
	b.admission.priorityClasses[c.Name] = c
	if d := b.admission.defaultPriority; c.GlobalDefault && (d == nil || c.Value < d.Value) {
		b.admission.defaultPriority = c
	}
	return nil
}

// AddRuntimeClass adds a RuntimeClass. It sets the overhead of pods without a uid that name it, and adds to their node
// selector and tolerations.
func (b *Builder) AddRuntimeClass(c *nodev1.RuntimeClass) error {
	if err := b.once("RuntimeClass", "", c.Name); err != nil {
		return err
	}
	b.admission.runtimeClasses[c.Name] = c.DeepCopy()
	return nil
}

// defaultLimits sets the defaults of a LimitRange's item (pkg/apis/core/v1/defaults.go SetDefaults_LimitRangeItem, v1.37).
func defaultLimits(l *corev1.LimitRangeItem) {
	if l.Type != corev1.LimitTypeContainer {
		return
	}
	l.Default = withDefaults(l.Default, l.Max)
	l.DefaultRequest = withDefaults(withDefaults(l.DefaultRequest, l.Default), l.Min)
}

// concerns reports whether a plugin might change or reject a pod without a uid.
func (a *admission) concerns(p *corev1.Pod) bool {
	return len(a.limitRanges[namespaceOf(p)]) > 0 || a.defaultPriority != nil ||
		a.priorityClasses[p.Spec.PriorityClassName] != nil || a.runtimeClass(&p.Spec) != nil
}

func (a *admission) runtimeClass(s *corev1.PodSpec) *nodev1.RuntimeClass {
	if s.RuntimeClassName == nil {
		return nil
	}
	return a.runtimeClasses[*s.RuntimeClassName]
}

// stored returns a pod as the API server would store it. The error is why it would reject the pod. It does not modify the
// pod; a pod with a uid is stored already.
func (a *admission) stored(p *corev1.Pod) (*corev1.Pod, error) {
	if admitted(p) {
		return p, nil
	}
	p = defaulted(p)
	return p, a.admit(p)
}

// admit changes a pod with defaults as the plugins do, in their order (pkg/kubeapiserver/options/plugins.go
// AllOrderedPlugins, v1.37). The error is why they reject it. Classes that were not added change nothing.
func (a *admission) admit(p *corev1.Pod) error {
	ranges := a.limitRanges[namespaceOf(p)]
	for _, l := range ranges {
		setLimits(l, &p.Spec)
	}
	if err := a.setPriority(&p.Spec); err != nil {
		return err
	}
	if err := setRuntime(a.runtimeClass(&p.Spec), &p.Spec); err != nil {
		return err
	}
	var errs []error
	for _, l := range ranges {
		if err := utilerrors.NewAggregate(checkLimits(l, p)); err != nil {
			errs = append(errs, fmt.Errorf("%w (LimitRange %s/%s)", err, namespaceOf(l), l.Name))
		}
	}
	return errors.Join(errs...)
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
			o := resourcehelper.PodResourcesOptions{ExcludeOverhead: true}
			check(item, resourcehelper.PodRequests(p, o), resourcehelper.PodLimits(p, o))
		}
	}
	return errs
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

func (b bounded) minimum(name corev1.ResourceName, bound resource.Quantity) error {
	request, requested := b.requests[name]
	limit, limited := b.limits[name]
	switch prefix := fmt.Sprintf("minimum %s usage per %s is %s", name, b.of, bound.String()); {
	case !requested:
		return fmt.Errorf("%s.  No request is specified", prefix)
	case request.Cmp(bound) < 0:
		return fmt.Errorf("%s, but request is %s", prefix, request.String())
	case limited && limit.Cmp(bound) < 0:
		return fmt.Errorf("%s, but limit is %s", prefix, limit.String())
	}
	return nil
}

func (b bounded) maximum(name corev1.ResourceName, bound resource.Quantity) error {
	request, requested := b.requests[name]
	limit, limited := b.limits[name]
	switch prefix := fmt.Sprintf("maximum %s usage per %s is %s", name, b.of, bound.String()); {
	case !limited:
		return fmt.Errorf("%s.  No limit is specified", prefix)
	case limit.Cmp(bound) > 0:
		return fmt.Errorf("%s, but limit is %s", prefix, limit.String())
	case requested && request.Cmp(bound) > 0:
		return fmt.Errorf("%s, but request is %s", prefix, request.String())
	}
	return nil
}

func (b bounded) ratio(name corev1.ResourceName, bound resource.Quantity) error {
	request, limit := b.requests[name], b.limits[name]
	switch prefix := fmt.Sprintf("%s max limit to request ratio per %s is %s", name, b.of, bound.String()); {
	case request.IsZero():
		return fmt.Errorf("%s, but no request is specified or request is 0", prefix)
	case limit.IsZero():
		return fmt.Errorf("%s, but no limit is specified or limit is 0", prefix)
	default:
		if ratio := limit.AsApproximateFloat64() / request.AsApproximateFloat64(); ratio > bound.AsApproximateFloat64() {
			return fmt.Errorf("%s, but provided ratio is %f", prefix, ratio)
		}
	}
	return nil
}

// systemPriorities are the values of the PriorityClasses that every cluster has (pkg/apis/scheduling/types.go, v1.37).
var systemPriorities = map[string]int32{
	"system-cluster-critical": 2_000_000_000,
	"system-node-critical":    2_000_001_000,
}

// setPriority sets the priority of a pod's class (plugin/pkg/admission/priority admitPod, v1.37). A priority without a class
// stays, though the API server rejects it: manifests of examples and tests often have one.
func (a *admission) setPriority(s *corev1.PodSpec) error {
	class := a.priorityClasses[s.PriorityClassName]
	if class == nil && s.PriorityClassName == "" {
		class = a.defaultPriority
	}
	value, known := systemPriorities[s.PriorityClassName]
	if class != nil {
		value, known = class.Value, true
	}
	switch {
	case s.Priority == nil && known:
		s.Priority = &value
	case s.Priority != nil && s.PriorityClassName != "" && known && *s.Priority != value:
		return fmt.Errorf("the integer value of priority (%d) must not be provided in pod spec; "+
			"priority admission controller computed %d from the given PriorityClass name", *s.Priority, value)
	}
	return nil
}

// setRuntime adds the overhead, the node selector and the tolerations of a RuntimeClass
// (plugin/pkg/admission/runtimeclass, v1.37).
func setRuntime(class *nodev1.RuntimeClass, s *corev1.PodSpec) error {
	if class == nil {
		return nil
	}
	var fixed corev1.ResourceList
	if class.Overhead != nil {
		fixed = class.Overhead.PodFixed
	}
	switch {
	case class.Overhead == nil && s.Overhead != nil:
		return errors.New("pod rejected: Pod Overhead set without corresponding RuntimeClass defined Overhead")
	case len(s.Overhead) > 0 && !apiequality.Semantic.DeepEqual(fixed, s.Overhead):
		return errors.New("pod rejected: Pod's Overhead doesn't match RuntimeClass's defined Overhead")
	}
	s.Overhead = roundedUp(maps.Clone(fixed))
	if class.Scheduling == nil {
		return nil
	}
	for _, key := range slices.Sorted(maps.Keys(class.Scheduling.NodeSelector)) {
		value := class.Scheduling.NodeSelector[key]
		if own, ok := s.NodeSelector[key]; ok && own != value {
			return fmt.Errorf("conflict: runtimeClass.scheduling.nodeSelector[%s] = %s; pod.spec.nodeSelector[%s] = %s", key, value, key, own)
		}
		if s.NodeSelector == nil {
			s.NodeSelector = map[string]string{}
		}
		s.NodeSelector[key] = value
	}
	// The API server leaves out tolerations that others include, which changes no decision.
	s.Tolerations = append(s.Tolerations, class.Scheduling.Tolerations...)
	return nil
}
