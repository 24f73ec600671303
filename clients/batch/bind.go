package batch

import (
	"context"
	"errors"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"

	"github.com/stowage-scheduler/stowage/clients/connect"
	"github.com/stowage-scheduler/stowage/clients/live"
)

const (
	// apiTimeout bounds one call of the API server.
	apiTimeout = 5 * time.Second
	// bindFor is how long a binding is tried that is not made though the API server answers, before other pods get their turn:
	// longer than two tries that are cut off.
	bindFor = 2*apiTimeout + time.Second
)

var (
	// errNotPending says that a pod is gone or on another node. The informer shows that, now or later.
	errNotPending = errors.New("the pod is not pending any more")
	// errOutdated says that what was decided may not hold any more.
	errOutdated = errors.New("the decision is out of date")
)

// bind binds a pod to its node.
func (s *Scheduler) bind(ctx context.Context, v verdict) {
	s.reports.settle(ctx, v.pod.UID)
	begin := time.Now()
	unclear, err := s.untilKnown(ctx, v)
	s.metrics.took(ctx, "bind", begin)
	switch {
	case errors.Is(err, errTakenBack):
		s.metrics.attempts.Add(ctx, 1, withResult("outdated"))
	case errors.Is(err, errOutdated) && !unclear:
		s.metrics.attempts.Add(ctx, 1, withResult("outdated"))
		s.takeBackSent(v)
	case err == nil:
		s.cluster.Extend(v.pod.UID, v.node)
		s.metrics.bound(ctx, v.arrived)
		s.options.Events.Eventf(v.pod, nil, corev1.EventTypeNormal, "Scheduled", "Binding",
			"Successfully assigned %s/%s to %s", v.pod.Namespace, v.pod.Name, v.node)
	case errors.Is(err, errNotPending):
		s.cluster.Forget(v.pod.UID)
		s.pending.remove(v.pod.UID)
	default:
		if unclear {
			s.cluster.Extend(v.pod.UID, v.node) // until when the API server is asked again
		} else {
			s.cluster.Forget(v.pod.UID)
		}
		v.message, v.why = "cannot be bound: "+err.Error(), failed
		s.leave(ctx, v, anyEpoch)
	}
}

// look tells whether a decision still holds: it was made since the scheduler has led without a break, and no event has changed
// its node, nor anything if it is not fresh. While nothing has changed but by other decisions, which were made with this one
// counted, there is nothing that would be decided otherwise.
func (s *Scheduler) look(v verdict) error {
	anything, there := s.cluster.Since(v.version, v.node)
	if term := s.options.Lease.Term(); term == 0 || term != v.term || there || anything && live.Elapsed(v.decided, time.Now()) > s.options.Fresh {
		return errOutdated
	}
	return nil
}

// leads waits until the scheduler leads and knows what was bound while its process did not run. It fails only at the end: what
// the API server does not answer is read again.
func (s *Scheduler) leads(ctx context.Context) error {
	for {
		again := leaseLook
		if s.options.Lease.Term() != 0 {
			if s.cluster.CatchUp(ctx) == nil {
				return nil
			}
			again = catchUpAgain
		}
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-time.After(again):
		}
	}
}

// leaseLook is how often a scheduler that does not lead looks whether it does.
const leaseLook = 50 * time.Millisecond

// untilKnown binds a pod to its node. An error does not say that the pod is not bound, so the API server is asked, and only
// what it says ends the attempt: the pod counts on the node all the while. What it refuses, it refuses again; anything else
// is tried for a while, and then it is unclear: a request that was cut off may still be carried out, so that the pod can go
// nowhere else. The client itself waits where the API server answers 429 and says until when. Before each try it is
// looked whether the decision still holds.
func (s *Scheduler) untilKnown(ctx context.Context, v verdict) (unclear bool, err error) {
	backoff := wait.Backoff{Duration: 50 * time.Millisecond, Factor: 2, Jitter: 0.5, Steps: 20, Cap: time.Second}
	var refused error // of the last try
	for since := time.Now(); ; {
		if err := s.leads(ctx); err != nil {
			return unclear, err
		}
		err := s.mayGo(v, false)
		if err == nil {
			err = s.send(ctx, v)
		}
		switch {
		case err == nil:
			return false, nil
		case errors.Is(err, errTakenBack):
			return false, err
		case !errors.Is(err, errOutdated):
			refused, unclear = err, unclear || !live.IsRefusal(err)
		case refused == nil:
			return false, err
		}
		select {
		case <-ctx.Done():
			return unclear, err
		case <-time.After(backoff.Step()): // also so that what was cut off has ended
		}
		bound, unknown := s.isBound(ctx, v)
		switch {
		case bound:
			return false, nil
		case errors.Is(unknown, errNotPending):
			return false, unknown
		case unknown != nil:
			s.log.Warn("nobody says whether a pod is bound, which counts where it may be",
				"pod", v.pod.Namespace+"/"+v.pod.Name, "node", v.node, "binding", err, "error", unknown)
			since = time.Now()
		case unclear && errors.Is(err, errOutdated):
			return true, refused
		case errors.Is(err, errOutdated), live.IsRefusal(err), time.Since(since) > bindFor:
			return unclear, err
		}
	}
}

// send asks the API server to bind a pod, unless the decision does not hold any more once the client may send. The error is
// errOutdated or errTakenBack only if nothing was sent that may be carried out.
func (s *Scheduler) send(ctx context.Context, v verdict) error {
	ctx, cancel := context.WithTimeout(ctx, apiTimeout)
	defer cancel()
	ctx, look := connect.WithLook(ctx, func() error { return s.mayGo(v, true) })
	err := s.options.Bindings.CoreV1().Pods(v.pod.Namespace).Bind(ctx, &corev1.Binding{
		ObjectMeta: metav1.ObjectMeta{Namespace: v.pod.Namespace, Name: v.pod.Name, UID: v.pod.UID},
		Target:     corev1.ObjectReference{Kind: "Node", Name: v.node},
	}, metav1.CreateOptions{})
	switch {
	case errors.Is(err, errTakenBack):
		return errTakenBack
	case !errors.Is(err, errOutdated):
		if taken := s.wasSent(v); taken != nil {
			return taken
		}
		return err
	case look.Unclear() != nil:
		return look.Unclear()
	}
	return errOutdated
}

// isBound asks the API server whether a pod is on its node.
func (s *Scheduler) isBound(ctx context.Context, v verdict) (bool, error) {
	ctx, cancel := context.WithTimeout(ctx, apiTimeout)
	defer cancel()
	p, err := s.api.CoreV1().Pods(v.pod.Namespace).Get(ctx, v.pod.Name, metav1.GetOptions{})
	switch {
	case apierrors.IsNotFound(err):
		return false, errNotPending
	case err != nil:
		return false, err
	case p.UID == v.pod.UID && p.Spec.NodeName == v.node:
		return true, nil
	case p.UID != v.pod.UID, p.Spec.NodeName != "", p.DeletionTimestamp != nil:
		s.cluster.Found(p)
		return false, errNotPending
	}
	return false, nil
}
