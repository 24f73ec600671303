package batch

import (
	"context"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
)

// How long one call of the API server may take, and how long bindings that were decided are still tried once the
// scheduler is to end.
const (
	bindCallTimeout = 5 * time.Second
	lastBindings    = 10 * time.Second
)

// bind binds a pod to its node, also if the context ends: whoever takes over should find what was decided.
func (s *Scheduler) bind(ctx context.Context, v verdict) {
	begin := time.Now()
	err := s.untilBound(ctx, v)
	s.metrics.took(ctx, "bind", begin)
	switch {
	case err == nil:
		s.cluster.Extend(v.pod.UID, v.node)
		s.metrics.bound(ctx, v.arrived)
		s.options.Events.Eventf(v.pod, nil, corev1.EventTypeNormal, "Scheduled", "Binding",
			"Successfully assigned %s/%s to %s", v.pod.Namespace, v.pod.Name, v.node)
	case apierrors.IsNotFound(err), apierrors.IsConflict(err):
		// The pod is gone, is another one of the same name, or is on another node: the informer tells or has told.
		s.cluster.Forget(v.pod.UID)
		s.pending.remove(v.pod.UID)
	default:
		s.cluster.Forget(v.pod.UID)
		v.message, v.failed = err.Error(), true
		s.leave(ctx, v, anyEpoch)
	}
}

// untilBound binds a pod to its node. A call whose outcome is not known is made again until it is, with the pod counting
// on the node all the while. The API server binds a pod once, so finding it where it should be is success.
func (s *Scheduler) untilBound(ctx context.Context, v verdict) error {
	binding := &corev1.Binding{
		ObjectMeta: metav1.ObjectMeta{Namespace: v.pod.Namespace, Name: v.pod.Name, UID: v.pod.UID},
		Target:     corev1.ObjectReference{Kind: "Node", Name: v.node},
	}
	goingOn := context.WithoutCancel(ctx)
	backoff := wait.Backoff{Duration: 50 * time.Millisecond, Factor: 2, Jitter: 0.5, Steps: 20, Cap: time.Second}
	var last <-chan time.Time
	for {
		call, cancel := context.WithTimeout(goingOn, bindCallTimeout)
		err := s.api.CoreV1().Pods(v.pod.Namespace).Bind(call, binding, metav1.CreateOptions{})
		if apierrors.IsConflict(err) {
			err = s.boundAnyway(call, v, err)
		}
		cancel()
		if err == nil || isFinal(err) {
			return err
		}
		if last == nil && ctx.Err() != nil {
			last = time.After(lastBindings)
		}
		select {
		case <-last:
			return err
		case <-time.After(backoff.Step()):
		}
	}
}

// isFinal tells whether a binding fails with this error however often it is tried. An API server that has just started
// forbids what it will allow.
func isFinal(err error) bool {
	return apierrors.IsNotFound(err) || apierrors.IsConflict(err) || apierrors.IsInvalid(err) || apierrors.IsBadRequest(err)
}

// boundAnyway looks at a pod that the API server will not bind: an earlier call may have done it.
func (s *Scheduler) boundAnyway(ctx context.Context, v verdict, conflict error) error {
	p, err := s.api.CoreV1().Pods(v.pod.Namespace).Get(ctx, v.pod.Name, metav1.GetOptions{})
	switch {
	case err != nil:
		return err
	case p.UID == v.pod.UID && p.Spec.NodeName == v.node:
		return nil
	}
	return conflict
}
