package batch

import (
	"cmp"
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
	// bindFor is how long a binding is retried while the API server answers without binding the pod. Then other pods are bound. It
	// exceeds two attempts that time out.
	bindFor = 2*apiTimeout + time.Second
)

var (
	// errNotPending means that a pod is gone or on another node, which the informer shows sooner or later.
	errNotPending = errors.New("the pod is no longer pending")
	// errOutdated means that a decision may no longer hold.
	errOutdated = errors.New("the decision is outdated")
)

// bind binds a pod to its node.
func (s *Scheduler) bind(ctx context.Context, v verdict) {
	s.reports.settle(ctx, v.pod.UID)
	begin := time.Now()
	unclear, err := false, error(nil)
	if len(v.claims) > 0 {
		if err = s.leads(ctx); err == nil {
			unclear, err = s.reserve(ctx, v)
		}
	}
	if err == nil {
		unclear, err = s.untilKnown(ctx, v)
	}
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
			s.cluster.Extend(v.pod.UID, v.node) // the API server is read again after that
		} else {
			s.cluster.Forget(v.pod.UID)
		}
		v.message, v.why = "cannot be bound: "+err.Error(), failed
		s.leave(ctx, v, anyEpoch)
	}
}

// look returns an error unless a decision still holds: the scheduler has led without a break since the decision, and no event has
// changed the node or, if the decision is not fresh, anything else. Later decisions do not matter, because they were made with this
// pod assumed.
func (s *Scheduler) look(v verdict) error {
	anything, there := s.cluster.Since(v.version, cmp.Or(v.node, v.nominee))
	if term := s.options.Lease.Term(); term == 0 || term != v.term || there || anything && live.Elapsed(v.decided, time.Now()) > s.options.Fresh {
		return errOutdated
	}
	return nil
}

// leads waits until the scheduler leads and has read the pods that were bound while its process was paused. It retries the read,
// and fails only when the context ends.
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

// leaseLook is the interval at which a scheduler that does not lead checks its lease.
const leaseLook = 50 * time.Millisecond

// untilKnown binds a pod to its node. After an error the pod may be bound, so untilKnown reads it from the API server, and only the
// result of the read ends the attempt; meanwhile the pod stays assumed. A rejected binding is not retried. After any other error the
// binding is retried for a while. Then the outcome is unclear: the API server may still carry out a request that timed out, so the
// pod cannot be placed elsewhere. After a 429 the client itself waits as Retry-After specifies. Each attempt first checks that the
// decision still holds.
func (s *Scheduler) untilKnown(ctx context.Context, v verdict) (unclear bool, err error) {
	backoff := wait.Backoff{Duration: 50 * time.Millisecond, Factor: 2, Jitter: 0.5, Steps: 20, Cap: time.Second}
	var refused error // error of the last attempt
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
		case <-time.After(backoff.Step()): // also gives a request that timed out time to end
		}
		bound, unknown := s.isBound(ctx, v)
		switch {
		case bound:
			return false, nil
		case errors.Is(unknown, errNotPending):
			return false, unknown
		case unknown != nil:
			s.log.Warn("the outcome of a binding is unknown; the pod stays assumed",
				"pod", v.pod.Namespace+"/"+v.pod.Name, "node", v.node, "binding", err, "error", unknown)
			since = time.Now()
		case unclear && errors.Is(err, errOutdated):
			return true, refused
		case errors.Is(err, errOutdated), live.IsRefusal(err), time.Since(since) > bindFor:
			return unclear, err
		}
	}
}

// send binds a pod, unless the decision no longer holds when the client is ready to send. It returns errOutdated or errTakenBack
// only if it sent no request that the API server may carry out.
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

// isBound reads from the API server whether a pod is on its node.
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
