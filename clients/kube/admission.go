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

// PriorityClasses returns the PriorityClasses that were added, by name. They must not be changed.
func (s *Snapshot) PriorityClasses() []*schedulingv1.PriorityClass {
	var out []*schedulingv1.PriorityClass
	for _, name := range slices.Sorted(maps.Keys(s.admission.priorityClasses)) {
		out = append(out, s.admission.priorityClasses[name])
	}
	return out
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
	err := a.admit(p)
	defaultPodLevel(p)
	if err == nil {
		err = a.check(p)
	}
	return p, err
}

// admit changes a pod with defaults as the plugins do, in their order (pkg/kubeapiserver/options/plugins.go
// AllOrderedPlugins, v1.37). The error is why they reject it. Classes that were not added change nothing.
func (a *admission) admit(p *corev1.Pod) error {
	for _, l := range a.limitRanges[namespaceOf(p)] {
		setLimits(l, &p.Spec)
	}
	if err := a.setPriority(&p.Spec); err != nil {
		return err
	}
	p.Spec.Tolerations = withDefaultTolerations(p.Spec.Tolerations)
	return setRuntime(a.runtimeClass(&p.Spec), &p.Spec)
}

// check returns why the plugins reject a pod that they have changed.
func (a *admission) check(p *corev1.Pod) error {
	var errs []error
	for _, l := range a.limitRanges[namespaceOf(p)] {
		if err := utilerrors.NewAggregate(checkLimits(l, p)); err != nil {
			errs = append(errs, fmt.Errorf("%w (LimitRange %s/%s)", err, namespaceOf(l), l.Name))
		}
	}
	if class := a.runtimeClass(&p.Spec); len(errs) == 0 && class != nil && class.Overhead == nil && p.Spec.Overhead != nil {
		return errors.New("pod rejected: Pod Overhead set without corresponding RuntimeClass defined Overhead")
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
			requests := resourcehelper.AggregateContainerRequests(p, resourcehelper.PodResourcesOptions{})
			limits := resourcehelper.AggregateContainerLimits(p, resourcehelper.PodResourcesOptions{})
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

// systemClasses are the PriorityClasses that every cluster has (pkg/apis/scheduling/v1/helpers.go, v1.37).
var systemClasses = map[string]*schedulingv1.PriorityClass{
	"system-cluster-critical": {Value: 2_000_000_000},
	"system-node-critical":    {Value: 2_000_001_000},
}

// priorityClass returns a pod's class, nil if it is not known and there is no default.
func (a *admission) priorityClass(s *corev1.PodSpec) *schedulingv1.PriorityClass {
	if s.PriorityClassName == "" {
		return a.defaultPriority
	}
	return cmp.Or(a.priorityClasses[s.PriorityClassName], systemClasses[s.PriorityClassName])
}

// setPriority sets the priority and the preemption policy of a pod's class (plugin/pkg/admission/priority admitPod, v1.37).
// Those of a pod without a class stay, though the API server rejects most: manifests of examples and tests often have them.
func (a *admission) setPriority(s *corev1.PodSpec) error {
	class := a.priorityClass(s)
	if class == nil {
		return nil
	}
	policy := corev1.PreemptLowerPriority
	if class.PreemptionPolicy != nil {
		policy = *class.PreemptionPolicy
	}
	if s.PriorityClassName != "" {
		switch {
		case s.Priority != nil && *s.Priority != class.Value:
			return fmt.Errorf("the integer value of priority (%d) must not be provided in pod spec; "+
				"priority admission controller computed %d from the given PriorityClass name", *s.Priority, class.Value)
		case s.PreemptionPolicy != nil && *s.PreemptionPolicy != policy:
			return fmt.Errorf("the string value of PreemptionPolicy (%s) must not be provided in pod spec; "+
				"priority admission controller computed %s from the given PriorityClass name", *s.PreemptionPolicy, policy)
		}
	}
	if s.PriorityClassName != "" || s.Priority == nil {
		s.Priority, s.PreemptionPolicy = cmp.Or(s.Priority, new(class.Value)), cmp.Or(s.PreemptionPolicy, &policy)
	}
	return nil
}

// withDefaultTolerations adds the tolerations that a pod lacks (plugin/pkg/admission/defaulttolerationseconds, v1.37).
func withDefaultTolerations(own []corev1.Toleration) []corev1.Toleration {
	out := own
	for _, taint := range []string{corev1.TaintNodeNotReady, corev1.TaintNodeUnreachable} {
		if !slices.ContainsFunc(own, func(t corev1.Toleration) bool {
			return (t.Key == taint || t.Key == "") && (t.Effect == corev1.TaintEffectNoExecute || t.Effect == "")
		}) {
			out = append(out, corev1.Toleration{
				Key: taint, Operator: corev1.TolerationOpExists, Effect: corev1.TaintEffectNoExecute, TolerationSeconds: new(int64(300)),
			})
		}
	}
	return out
}

// setRuntime adds the overhead, the node selector and the tolerations of a RuntimeClass
// (plugin/pkg/admission/runtimeclass, v1.37).
func setRuntime(class *nodev1.RuntimeClass, s *corev1.PodSpec) error {
	if class == nil {
		return nil
	}
	if class.Overhead != nil {
		fixed := class.Overhead.PodFixed
		if len(s.Overhead) > 0 && !apiequality.Semantic.DeepEqual(fixed, s.Overhead) {
			return errors.New("pod rejected: Pod's Overhead doesn't match RuntimeClass's defined Overhead")
		}
		s.Overhead = roundedUp(maps.Clone(fixed))
	}
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
