package batch

import (
	"context"
	"encoding/json"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// why says why a pod has no node.
type why int

const (
	unschedulable why = iota // no node can take it as things are: others might
	gated                    // its group is not complete
	undecidable              // no node helps: the pod itself is the reason
	failed                   // no node was looked for
)

// reason is what the condition PodScheduled says, as in kube-scheduler (pkg/scheduler/schedule_one.go
// handleSchedulingFailure, v1.37). Autoscalers add nodes where it is Unschedulable. kube-scheduler does not queue the pods of
// an incomplete group (GangScheduling's PreEnqueue), for which SchedulingGated is the word.
func (w why) reason() string {
	switch w {
	case unschedulable:
		return corev1.PodReasonUnschedulable
	case gated:
		return corev1.PodReasonSchedulingGated
	}
	return corev1.PodReasonSchedulerError
}

// result is the metric's word for it.
func (w why) result() string {
	switch w {
	case unschedulable:
		return "unschedulable"
	case gated:
		return "gated"
	}
	return "error"
}

// leave leaves a pod pending until the next epoch, and has its status and an event say why when there is time for that. The pod
// does not wait for it: what is not said by the time that the pod is decided again is not said any more.
func (s *Scheduler) leave(ctx context.Context, v verdict, epoch uint64) {
	if v.why == failed {
		epoch = anyEpoch
	}
	if ctx.Err() != nil {
		s.pending.back(v.candidate, time.Now(), epoch) // it was not looked at to the end
		return
	}
	s.metrics.attempts.Add(ctx, 1, withResult(v.why.result()))
	// The report comes first, so that whoever decides the pod from now on finds and drops it.
	back := make(chan struct{})
	defer close(back)
	s.reports.put(v.pod.UID, func() {
		<-back
		s.tell(ctx, v)
	})
	s.pending.back(v.candidate, time.Now(), epoch)
}

// tell says in a pod's status and in an event why it has no node. If another scheduler may have found one by now, the pod
// is tried again instead.
func (s *Scheduler) tell(ctx context.Context, v verdict) {
	if ctx.Err() != nil {
		return
	}
	if term := s.options.Lease.Term(); term == 0 || term != v.term {
		s.pending.retry(v.pod.UID)
		return
	}
	p, err := s.condition(ctx, v.pod, v.why.reason(), v.message)
	if apierrors.IsNotFound(err) {
		return
	}
	if err != nil {
		s.log.Error("cannot say in a pod's status why it waits", "pod", v.pod.Namespace+"/"+v.pod.Name, "error", err)
		p = v.pod
	}
	// Events about one version of a pod become one with a count, so the event comes after the status: another reason is
	// another version.
	s.options.Events.Eventf(p, nil, corev1.EventTypeWarning, "FailedScheduling", "Scheduling", "%s", v.message)
}

// condition sets the pod's condition PodScheduled, unless it says so already, and returns the pod as it is then.
func (s *Scheduler) condition(ctx context.Context, p *corev1.Pod, reason, message string) (*corev1.Pod, error) {
	now := metav1.Now()
	to := corev1.PodCondition{
		Type: corev1.PodScheduled, Status: corev1.ConditionFalse, Reason: reason, Message: message,
		LastTransitionTime: now, ObservedGeneration: p.Generation,
	}
	for _, c := range p.Status.Conditions {
		if c.Type != corev1.PodScheduled {
			continue
		}
		if c.Status == to.Status && c.Reason == to.Reason && c.Message == to.Message {
			return p, nil
		}
		if c.Status == to.Status {
			to.LastTransitionTime = c.LastTransitionTime
		}
	}
	patch, err := json.Marshal(map[string]any{
		"metadata": map[string]any{"uid": p.UID},
		"status":   map[string]any{"conditions": []corev1.PodCondition{to}},
	})
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, apiTimeout)
	defer cancel()
	return s.options.Statuses.CoreV1().Pods(p.Namespace).Patch(ctx, p.Name, types.StrategicMergePatchType, patch, metav1.PatchOptions{}, "status")
}
