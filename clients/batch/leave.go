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

// leave leaves a pod pending and says why, in its status and in an event, as kube-scheduler does
// (pkg/scheduler/schedule_one.go handleSchedulingFailure, v1.37). Only then it is tried again, so that what it says is
// never later than its binding.
func (s *Scheduler) leave(ctx context.Context, v verdict, epoch uint64) {
	reason, result := corev1.PodReasonUnschedulable, "unschedulable"
	if v.failed {
		reason, result, epoch = corev1.PodReasonSchedulerError, "error", anyEpoch
	}
	defer func() { s.pending.back(v.candidate, time.Now(), epoch) }()
	if ctx.Err() != nil {
		return // it was not looked at to the end
	}
	s.metrics.attempts.Add(ctx, 1, withResult(result))
	p, err := s.condition(ctx, v.pod, reason, v.message)
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
	return s.api.CoreV1().Pods(p.Namespace).Patch(ctx, p.Name, types.StrategicMergePatchType, patch, metav1.PatchOptions{}, "status")
}
