// Package admission does to pods what the API server of Kubernetes v1.37 does before it stores them, as far as decisions depend
// on it: it sets defaults, applies the plugins LimitRanger, Priority, DefaultTolerationSeconds and RuntimeClass, and rejects pods as
// these do. Other plugins are not imitated.
package admission

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
	utilerrors "k8s.io/apimachinery/pkg/util/errors"

	"github.com/stowage-scheduler/stowage/clients/kube/object"
)

// Plugins has the objects that the API server's admission plugins read when a pod is created. The zero value has none.
type Plugins struct {
	limitRanges     map[string][]*corev1.LimitRange // by namespace
	priorityClasses map[string]*schedulingv1.PriorityClass
	defaultPriority *schedulingv1.PriorityClass // the global default
	runtimeClasses  map[string]*nodev1.RuntimeClass
}

// New returns Plugins to which objects can be added.
func New() Plugins {
	return Plugins{
		limitRanges: map[string][]*corev1.LimitRange{}, priorityClasses: map[string]*schedulingv1.PriorityClass{},
		runtimeClasses: map[string]*nodev1.RuntimeClass{},
	}
}

// AddLimitRange adds a LimitRange.
func (a *Plugins) AddLimitRange(l *corev1.LimitRange) {
	l = l.DeepCopy()
	for i := range l.Spec.Limits {
		defaultLimits(&l.Spec.Limits[i])
	}
	in := a.limitRanges[object.Namespace(l)]
	at, _ := slices.BinarySearchFunc(in, l.Name, func(x *corev1.LimitRange, name string) int { return cmp.Compare(x.Name, name) })
	a.limitRanges[object.Namespace(l)] = slices.Insert(in, at, l)
}

// AddPriorityClass adds a PriorityClass.
func (a *Plugins) AddPriorityClass(c *schedulingv1.PriorityClass) {
	c = c.DeepCopy()
	a.priorityClasses[c.Name] = c
	if d := a.defaultPriority; c.GlobalDefault && (d == nil || c.Value < d.Value) {
		a.defaultPriority = c
	}
}

// PriorityClasses returns the PriorityClasses by name. They must not be changed.
func (a *Plugins) PriorityClasses() []*schedulingv1.PriorityClass {
	return slices.SortedFunc(maps.Values(a.priorityClasses), func(x, y *schedulingv1.PriorityClass) int { return cmp.Compare(x.Name, y.Name) })
}

// AddRuntimeClass adds a RuntimeClass.
func (a *Plugins) AddRuntimeClass(c *nodev1.RuntimeClass) { a.runtimeClasses[c.Name] = c.DeepCopy() }

// Concern reports whether a plugin might change or reject a pod that no API server has admitted.
func (a *Plugins) Concern(p *corev1.Pod) bool {
	return !object.Admitted(p) && (len(a.limitRanges[object.Namespace(p)]) > 0 || a.defaultPriority != nil ||
		a.priorityClasses[p.Spec.PriorityClassName] != nil || a.RuntimeClass(&p.Spec) != nil)
}

// RuntimeClass returns the RuntimeClass of a pod, nil if it was not added.
func (a *Plugins) RuntimeClass(s *corev1.PodSpec) *nodev1.RuntimeClass {
	if s.RuntimeClassName == nil {
		return nil
	}
	return a.runtimeClasses[*s.RuntimeClassName]
}

// Stored returns a pod as the API server would store it. The error is why it would reject the pod. It does not modify the
// pod. A pod with a uid is stored already.
func (a *Plugins) Stored(p *corev1.Pod) (*corev1.Pod, error) {
	if object.Admitted(p) {
		return p, nil
	}
	p = Defaulted(p)
	err := a.admit(p)
	defaultPodLevel(p)
	if err == nil {
		err = a.check(p)
	}
	return p, err
}

// StoredOrGiven is Stored for a pod that may be rejected: then it is the pod itself.
func (a *Plugins) StoredOrGiven(p *corev1.Pod) *corev1.Pod {
	if out, err := a.Stored(p); err == nil {
		return out
	}
	return p
}

// admit changes a pod with defaults as the plugins do, in their order (pkg/kubeapiserver/options/plugins.go
// AllOrderedPlugins, v1.37). The error is why they reject it. Classes that were not added change nothing.
func (a *Plugins) admit(p *corev1.Pod) error {
	for _, l := range a.limitRanges[object.Namespace(p)] {
		setLimits(l, &p.Spec)
	}
	if err := a.setPriority(&p.Spec); err != nil {
		return err
	}
	p.Spec.Tolerations = withDefaultTolerations(p.Spec.Tolerations)
	return setRuntime(a.RuntimeClass(&p.Spec), &p.Spec)
}

// check returns why the plugins reject a pod that they have changed.
func (a *Plugins) check(p *corev1.Pod) error {
	var errs []error
	for _, l := range a.limitRanges[object.Namespace(p)] {
		if err := utilerrors.NewAggregate(checkLimits(l, p)); err != nil {
			errs = append(errs, fmt.Errorf("%w (LimitRange %s/%s)", err, object.Namespace(l), l.Name))
		}
	}
	if class := a.RuntimeClass(&p.Spec); len(errs) == 0 && class != nil && class.Overhead == nil && p.Spec.Overhead != nil {
		return errors.New("pod rejected: Pod Overhead set without corresponding RuntimeClass defined Overhead")
	}
	return errors.Join(errs...)
}

// systemClasses are the PriorityClasses that every cluster has (pkg/apis/scheduling/v1/helpers.go, v1.37).
var systemClasses = map[string]*schedulingv1.PriorityClass{
	"system-cluster-critical": {Value: 2_000_000_000},
	"system-node-critical":    {Value: 2_000_001_000},
}

// priorityClass returns a pod's class, nil if it is not known and there is no default.
func (a *Plugins) priorityClass(s *corev1.PodSpec) *schedulingv1.PriorityClass {
	if s.PriorityClassName == "" {
		return a.defaultPriority
	}
	return cmp.Or(a.priorityClasses[s.PriorityClassName], systemClasses[s.PriorityClassName])
}

// setPriority sets the priority and the preemption policy of a pod's class (plugin/pkg/admission/priority admitPod, v1.37).
// The priority of a pod without a class stays, though the API server rejects most: manifests of examples and tests often have one.
func (a *Plugins) setPriority(s *corev1.PodSpec) error {
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
