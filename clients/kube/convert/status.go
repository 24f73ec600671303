package convert

import (
	"maps"
	"slices"
	"time"

	"google.golang.org/protobuf/types/known/timestamppb"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/stowage-scheduler/stowage/clients/kube/object"
	"github.com/stowage-scheduler/stowage/clients/kube/skew"
	stowagev1 "github.com/stowage-scheduler/stowage/proto/stowage/v1"
)

// runningRequests is how kube-scheduler sums the requests of pods on nodes (pkg/scheduler/framework/types.go
// CalculateResource, v1.37).
var runningRequests = skew.RequestOptions{Status: true}

// resourceStatus converts the resources in the pod's status. The kubelet always repeats the spec there, so the result is
// nil unless the status changes what the pod occupies; otherwise no two pods could be counted together.
func (c *converter) resourceStatus(p *corev1.Pod) *stowagev1.PodResourceStatus {
	if !statusMatters(p) {
		return nil
	}
	path := field.NewPath("status")
	out := &stowagev1.PodResourceStatus{ResizeInfeasible: skew.IsPodResizeInfeasible(p)}
	out.Containers = c.containerStatuses(p, path)
	// kube-scheduler reads allocatedResources only if resources is set, and treats empty resources as none at all.
	if allocated, actuated := skew.PodStatusResources(&p.Status); actuated != nil {
		out.ResourcesPresent = true
		out.Allocated = c.listed(allocated, path.Child("allocatedResources"), nil)
		out.Actuated = c.listed(actuated.Requests, path.Child("resources", "requests"), nil)
	}
	return out
}

// containerStatuses converts the resources in the statuses of containers. kube-scheduler computes three sums, of requested,
// allocated and actuated amounts; a sum without an amount for a container uses the amount of the sum before. With fractions an
// amount depends on the sum, so a pod with fractions gets every container's amount for each sum.
func (c *converter) containerStatuses(p *corev1.Pod, path *field.Path) []*stowagev1.ContainerResourceStatus {
	statuses := map[string]*corev1.ContainerStatus{}
	paths := map[string]*field.Path{}
	list := func(ss []corev1.ContainerStatus, path *field.Path) {
		for i := range ss {
			if statuses[ss[i].Name] == nil {
				statuses[ss[i].Name], paths[ss[i].Name] = &ss[i], path.Index(i)
			}
		}
	}
	list(p.Status.ContainerStatuses, path.Child("containerStatuses"))
	list(p.Status.InitContainerStatuses, path.Child("initContainerStatuses"))
	infeasible := skew.IsPodResizeInfeasible(p)
	allocated := func(in *corev1.Container) corev1.ResourceList {
		if s := statuses[in.Name]; s != nil && s.AllocatedResources != nil || infeasible {
			return statedAllocated(statuses[in.Name])
		}
		return requested(in)
	}
	actuated := func(in *corev1.Container) corev1.ResourceList {
		if list := statedActuated(statuses[in.Name]); list != nil {
			return list
		}
		return allocated(in)
	}
	fractions := hasFractions(p, requested) || hasFractions(p, allocated) || hasFractions(p, actuated)
	actuatedBefore := map[string]excess{}
	for in, before := range sums(&p.Spec, actuated) {
		actuatedBefore[in.Name] = before
	}
	var out []*stowagev1.ContainerResourceStatus
	for in, before := range sums(&p.Spec, allocated) {
		s, at := statuses[in.Name], paths[in.Name]
		o := &stowagev1.ContainerResourceStatus{Name: in.Name}
		if fractions {
			o.Allocated = c.listed(allocated(in), at.Child("allocatedResources"), before)
			o.Actuated = c.listed(actuated(in), at.Child("resources", "requests"), actuatedBefore[in.Name])
		} else {
			o.Allocated = c.listed(statedAllocated(s), at.Child("allocatedResources"), nil)
			o.Actuated = c.listed(statedActuated(s), at.Child("resources", "requests"), nil)
		}
		if o.Allocated != nil || o.Actuated != nil {
			out = append(out, o)
		}
	}
	return out
}

func statedAllocated(s *corev1.ContainerStatus) corev1.ResourceList {
	if s == nil {
		return nil
	}
	return s.AllocatedResources
}

func statedActuated(s *corev1.ContainerStatus) corev1.ResourceList {
	if s == nil || s.Resources == nil {
		return nil
	}
	return s.Resources.Requests
}

// hasFractions reports whether a sum of a pod's amounts is rounded anywhere.
func hasFractions(p *corev1.Pod, amounts func(*corev1.Container) corev1.ResourceList) bool {
	for in := range sums(&p.Spec, amounts) {
		if excess(nil).plus(amounts(in)) != nil {
			return true
		}
	}
	return false
}

// statusMatters reports, by kube-scheduler's own arithmetic, whether the status changes what the pod occupies, both as
// requested and with a substitute for missing requests. The substitute's size does not matter.
func statusMatters(p *corev1.Pod) bool {
	if statusRepeatsSpec(p) {
		return false
	}
	missing := corev1.ResourceList{
		corev1.ResourceCPU:    *resource.NewMilliQuantity(100, resource.DecimalSI),
		corev1.ResourceMemory: *resource.NewQuantity(200<<20, resource.BinarySI),
	}
	for _, standIn := range []corev1.ResourceList{nil, missing} {
		o := skew.RequestOptions{Missing: standIn}
		spec := skew.PodRequests(p, o)
		o.Status = true
		if !sameResources(spec, skew.PodRequests(p, o)) {
			return true
		}
	}
	return false
}

// statusRepeatsSpec quickly finds, for most pods, that the status changes nothing: if each container has allocated and
// actuated its requests, so has the pod.
func statusRepeatsSpec(p *corev1.Pod) bool {
	if _, actuated := skew.PodStatusResources(&p.Status); actuated != nil || skew.IsPodResizeInfeasible(p) {
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

// PodDisruptionBudget converts a PodDisruptionBudget. A selector with an operator that does not exist selects no pods
// (pkg/scheduler/framework/preemption/util.go FilterVictimsWithPDBViolation, v1.37): it is left out.
func PodDisruptionBudget(p *policyv1.PodDisruptionBudget) *stowagev1.PodDisruptionBudget {
	c := &converter{}
	out := &stowagev1.PodDisruptionBudget{
		Namespace: object.Namespace(p), Name: p.Name, Selector: c.labelSelector(p.Spec.Selector, SpecPath.Child("selector")),
		DisruptionsAllowed: p.Status.DisruptionsAllowed, DisruptedPods: slices.Sorted(maps.Keys(p.Status.DisruptedPods)),
		CurrentHealthy: p.Status.CurrentHealthy, DesiredHealthy: p.Status.DesiredHealthy,
		Outdated: p.Status.ObservedGeneration < p.Generation,
	}
	if policy := p.Spec.UnhealthyPodEvictionPolicy; policy != nil && *policy == policyv1.AlwaysAllow {
		out.UnhealthyPodEvictionPolicy = stowagev1.UnhealthyPodEvictionPolicy_UNHEALTHY_POD_EVICTION_POLICY_ALWAYS_ALLOW
	}
	if c.err() != nil {
		out.Selector = nil
	}
	return out
}

// preemptionPolicy converts a pod's preemption policy. kube-scheduler only looks for Never. The default is left out, so that
// a pod that sets it shares the template of one that does not.
func preemptionPolicy(s *corev1.PodSpec) stowagev1.PreemptionPolicy {
	if s.PreemptionPolicy != nil && *s.PreemptionPolicy == corev1.PreemptNever {
		return stowagev1.PreemptionPolicy_PREEMPTION_POLICY_NEVER
	}
	return stowagev1.PreemptionPolicy_PREEMPTION_POLICY_UNSPECIFIED
}

// setVictim sets what preemption reads of a pod on a node. A pod that is only nominated to its node is no victim.
func setVictim(out *stowagev1.Pod, p *corev1.Pod) {
	if p.Spec.NodeName == "" {
		return
	}
	out.StartTime, out.Preempted, out.Readiness = startTime(p), Preempted(p), Readiness(p)
}

// Readiness returns what the eviction API reads of the status of a pod on a node. A running pod without the condition Ready is
// not ready (pkg/api/pod/util.go IsPodReady, v1.37); the readiness is unknown of a status without phase or conditions, such as one that was
// written by hand. The readiness of a terminating pod is left out, as nothing reads it.
func Readiness(p *corev1.Pod) stowagev1.PodReadiness {
	at := slices.IndexFunc(p.Status.Conditions, func(c corev1.PodCondition) bool { return c.Type == corev1.PodReady })
	switch {
	case p.DeletionTimestamp != nil:
		return stowagev1.PodReadiness_POD_READINESS_UNSPECIFIED
	case p.Status.Phase == corev1.PodPending:
		return stowagev1.PodReadiness_POD_READINESS_PENDING
	case at < 0 && (p.Status.Phase == "" || len(p.Status.Conditions) == 0):
		return stowagev1.PodReadiness_POD_READINESS_UNSPECIFIED
	case at >= 0 && p.Status.Conditions[at].Status == corev1.ConditionTrue:
		return stowagev1.PodReadiness_POD_READINESS_READY
	}
	return stowagev1.PodReadiness_POD_READINESS_NOT_READY
}

// The limits of Pod.start_time.
var (
	earliestStart = time.Unix(0, 1)
	latestStart   = time.Date(2262, time.January, 1, 0, 0, 0, 0, time.UTC).Add(-1)
)

// startTime returns when a pod started, nil if its status does not say so. The API server accepts any time: one outside the
// contract's limits becomes the nearest that is not.
func startTime(p *corev1.Pod) *timestamppb.Timestamp {
	t := p.Status.StartTime
	switch {
	case t == nil:
		return nil
	case t.Time.Before(earliestStart):
		return timestamppb.New(earliestStart)
	case t.Time.After(latestStart):
		return timestamppb.New(latestStart)
	}
	return timestamppb.New(t.Time)
}

// Preempted reports whether kube-scheduler has preempted a pod, which terminates
// (pkg/scheduler/framework/preemption/util.go PodTerminatingByPreemption, v1.37).
func Preempted(p *corev1.Pod) bool {
	i := slices.IndexFunc(p.Status.Conditions, func(c corev1.PodCondition) bool { return c.Type == corev1.DisruptionTarget })
	return p.DeletionTimestamp != nil && i >= 0 && p.Status.Conditions[i].Status == corev1.ConditionTrue &&
		p.Status.Conditions[i].Reason == corev1.PodReasonPreemptionByScheduler
}
