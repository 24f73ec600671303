package kube

import (
	"maps"
	"slices"
	"time"

	"google.golang.org/protobuf/types/known/timestamppb"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"

	stowagev1 "github.com/stowage-scheduler/stowage/proto/stowage/v1"
)

// AddPodDisruptionBudget adds a PodDisruptionBudget. It counts by its status, as in kube-scheduler: one without a status
// allows no disruptions, as one that the disruption controller has not seen yet.
func (b *Builder) AddPodDisruptionBudget(p *policyv1.PodDisruptionBudget) error {
	if err := b.once("PodDisruptionBudget", namespaceOf(p), p.Name); err != nil {
		return err
	}
	out := PodDisruptionBudget(p)
	b.budgets, b.asked = append(b.budgets, out), append(b.asked, budgetOf(p))
	b.stated = append(b.stated, StatedBudget{Origin{"PodDisruptionBudget", out.Namespace, out.Name}, b.at, &p.Spec, &p.Status})
	b.places[out] = place{at: b.at}
	return nil
}

// PodDisruptionBudget converts a PodDisruptionBudget. A selector with an operator that does not exist selects no pods
// (pkg/scheduler/framework/preemption/util.go FilterVictimsWithPDBViolation, v1.37): it is left out.
func PodDisruptionBudget(p *policyv1.PodDisruptionBudget) *stowagev1.PodDisruptionBudget {
	c := &converter{}
	out := &stowagev1.PodDisruptionBudget{
		Namespace: namespaceOf(p), Name: p.Name, Selector: c.labelSelector(p.Spec.Selector, specPath.Child("selector")),
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
	out.StartTime, out.Preempted, out.Readiness = startTime(p), Preempted(p), readiness(p)
}

// readiness returns what the eviction API reads of the status of a pod on a node. A running pod without the condition Ready is
// not ready (pkg/api/pod/util.go IsPodReady, v1.37); the readiness is unknown of a status without phase or conditions, such as one that was
// written by hand. The readiness of a terminating pod is left out, as nothing reads it.
func readiness(p *corev1.Pod) stowagev1.PodReadiness {
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
