package batch

import (
	"context"
	"encoding/json"
	"errors"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
)

// why classifies why a pod has no node.
type why int

const (
	unschedulable why = iota // no node is feasible now; other nodes might be
	gated                    // its group is not complete
	undecidable              // no node helps: the pod itself is the reason
	failed                   // the attempt failed
)

// reason is the reason of the condition PodScheduled, as in kube-scheduler (pkg/scheduler/schedule_one.go
// handleSchedulingFailure, v1.37). Autoscalers add nodes for Unschedulable. kube-scheduler keeps the pods of an incomplete
// group out of its queue (GangScheduling's PreEnqueue), which SchedulingGated stands for.
func (w why) reason() string {
	switch w {
	case unschedulable:
		return corev1.PodReasonUnschedulable
	case gated:
		return corev1.PodReasonSchedulingGated
	}
	return corev1.PodReasonSchedulerError
}

// result is the metric's value for it.
func (w why) result() string {
	switch w {
	case unschedulable:
		return "unschedulable"
	case gated:
		return "gated"
	}
	return "error"
}

// leave keeps a pod pending until the next epoch, and queues a status update and an event with the reason. The pod does not wait
// for them: another decision drops them.
func (s *Scheduler) leave(ctx context.Context, v verdict, epoch uint64) {
	if v.why == failed {
		epoch = anyEpoch
	}
	v.clears = v.clears || s.endsNomination(v)
	if ctx.Err() != nil {
		s.pending.back(v.candidate, time.Now(), epoch) // the attempt was cut short
		return
	}
	s.metrics.attempts.Add(ctx, 1, withResult(v.why.result()))
	// Queue the report first, so that the next decision about the pod finds and drops it.
	back := make(chan struct{})
	defer close(back)
	s.reports.put(v.pod.UID, func(report context.Context) {
		<-back
		ctx, cancel := context.WithCancel(ctx)
		defer cancel()
		defer context.AfterFunc(report, cancel)()
		s.report(ctx, v)
	})
	s.pending.back(v.candidate, time.Now(), epoch)
}

// endsNomination reports whether an unschedulable pod loses its nomination although no result of preemption ends it: otherwise it
// would keep its room forever.
func (s *Scheduler) endsNomination(v verdict) bool {
	switch {
	case !s.evicts() || v.pod.Status.NominatedNodeName == "" || v.soon || v.keeps || v.why == failed:
		return false
	case v.why == unschedulable:
		return v.group != ""
	}
	return true
}

// report writes the reason why a pod is pending to its status and to an event. If another scheduler may have placed the pod
// meanwhile, the pod is retried instead.
func (s *Scheduler) report(ctx context.Context, v verdict) {
	if ctx.Err() != nil {
		return
	}
	if term := s.options.Lease.Term(); term == 0 || term != v.term {
		s.pending.retry(v.pod.UID)
		return
	}
	p, err := s.condition(ctx, v)
	if apierrors.IsNotFound(err) || err != nil && ctx.Err() != nil || errors.Is(err, errOutdated) {
		return
	}
	if err != nil {
		s.log.Error("cannot write the status of a pending pod", "pod", v.pod.Namespace+"/"+v.pod.Name, "error", err)
		p = v.pod
	}
	// Events about one version of a pod are merged into one event with a count. The event follows the status, so that another
	// reason belongs to another version.
	s.options.Events.Eventf(p, nil, corev1.EventTypeWarning, "FailedScheduling", "Scheduling", "%s", v.message)
}

// condition sets the pod's condition PodScheduled unless it is already set, clears an ended nomination, and returns the updated
// pod.
func (s *Scheduler) condition(ctx context.Context, v verdict) (p *corev1.Pod, err error) {
	condition, is := notScheduled(v.pod, v.why.reason(), v.message)
	if v.clears {
		err = s.write(ctx, s.inTerm(v.term), func(ctx context.Context) error {
			p, err = patchStatus(ctx, s.options.Evictions, v.pod, &condition, new(string))
			return err
		})
		return p, err
	}
	if is {
		return v.pod, nil
	}
	ctx, cancel := context.WithTimeout(ctx, apiTimeout)
	defer cancel()
	return patchStatus(ctx, s.options.Statuses, v.pod, &condition, nil)
}

// notScheduled is the pod's condition PodScheduled with a reason, and whether it is already set.
func notScheduled(p *corev1.Pod, reason, message string) (condition corev1.PodCondition, is bool) {
	condition = corev1.PodCondition{
		Type: corev1.PodScheduled, Status: corev1.ConditionFalse, Reason: reason, Message: message,
		LastTransitionTime: metav1.Now(), ObservedGeneration: p.Generation,
	}
	for _, c := range p.Status.Conditions {
		if c.Type != corev1.PodScheduled {
			continue
		}
		is = c.Status == condition.Status && c.Reason == condition.Reason && c.Message == condition.Message
		if c.Status == condition.Status {
			condition.LastTransitionTime = c.LastTransitionTime
		}
	}
	return condition, is
}

// patchStatus sets a condition and the nominated node of a pod, unless nil. A nominated node of "" clears it.
func patchStatus(ctx context.Context, api kubernetes.Interface, p *corev1.Pod, condition *corev1.PodCondition,
	nominated *string,
) (*corev1.Pod, error) {
	status := map[string]any{}
	if condition != nil {
		status["conditions"] = []corev1.PodCondition{*condition}
	}
	if nominated != nil {
		status["nominatedNodeName"] = nominated
		if *nominated == "" {
			status["nominatedNodeName"] = nil
		}
	}
	patch, err := json.Marshal(map[string]any{"metadata": map[string]any{"uid": p.UID}, "status": status})
	if err != nil {
		return nil, err
	}
	return api.CoreV1().Pods(p.Namespace).Patch(ctx, p.Name, types.StrategicMergePatchType, patch, metav1.PatchOptions{},
		"status")
}
