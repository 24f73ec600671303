package batch

import (
	"context"
	"errors"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	apiequality "k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/stowage-scheduler/stowage/clients/live"
)

// reserve writes the claims of a decided pod before it is bound, as kube-scheduler's PreBind does
// (pkg/scheduler/framework/plugins/dynamicresources/dynamicresources.go bindClaim, v1.37): the finalizer, then the devices and the pod. The first
// write counts as sending the binding, so that nobody takes the decision back while a write may still be carried out. unclear reports whether
// one may be.
func (s *Scheduler) reserve(ctx context.Context, v verdict) (unclear bool, err error) {
	begin := time.Now()
	defer func() { s.metrics.took(ctx, "allocate", begin) }()
	for _, want := range v.claims {
		r := &reservation{Scheduler: s, verdict: v, want: want, now: want}
		if err := s.write(ctx, r.holds, r.write); err != nil {
			return r.sent != "", err
		}
	}
	return false, nil
}

// reservation writes one claim.
type reservation struct {
	*Scheduler
	verdict
	want *resourcev1.ResourceClaim
	now  *resourcev1.ResourceClaim // what the API server has, nil if that is to be read
	// sent is the version of the claim that an unanswered write was sent for. The API server may still carry it out until the claim has
	// another version.
	sent string
}

// holds returns an error unless the decision holds, and its devices are free.
func (r *reservation) holds() error {
	err := r.mayGo(r.verdict, true)
	if err == nil && r.cluster.DevicesTaken(r.want) {
		err = errOutdated
	}
	return err
}

// write writes the claim. After a failure it first reads the claim, which may have changed, or may have been written after all.
func (r *reservation) write(ctx context.Context) error {
	if r.now == nil {
		read, err := r.api.ResourceV1().ResourceClaims(r.want.Namespace).Get(ctx, r.want.Name, metav1.GetOptions{})
		if err != nil {
			return gone(err)
		}
		if read.ResourceVersion != r.sent {
			r.sent = ""
		}
		switch allocated := read.Status.Allocation != nil; {
		case read.UID != r.want.UID || read.DeletionTimestamp != nil || allocated && !sameDevices(read, r.want):
			r.cluster.ClaimWritten(read) // by another one
			return errOutdated
		case allocated && isReserved(read, r.pod):
			r.cluster.ClaimWritten(read)
			return nil
		}
		r.now = read
	}
	send := r.now.DeepCopy()
	r.now = nil
	claims := r.options.Bindings.ResourceV1().ResourceClaims(send.Namespace)
	if !slices.Contains(send.Finalizers, resourcev1.Finalizer) {
		send.Finalizers = append(send.Finalizers, resourcev1.Finalizer)
		updated, err := claims.Update(ctx, send, metav1.UpdateOptions{})
		if err != nil {
			return gone(err)
		}
		send = updated.DeepCopy()
	}
	switch {
	case send.Status.Allocation == nil:
		send.Status.Allocation = r.want.Status.Allocation
	case !sameDevices(send, r.want):
		return errOutdated
	}
	reserveFor(send, r.pod)
	r.sent = send.ResourceVersion
	stored, err := claims.UpdateStatus(ctx, send, metav1.UpdateOptions{})
	if err == nil {
		r.cluster.ClaimWritten(stored)
	}
	if err == nil || live.IsRefusal(err) || errors.Is(err, errOutdated) {
		r.sent = ""
	}
	return gone(err)
}

// gone makes the error about an object that does not exist one of an outdated decision.
func gone(err error) error {
	if apierrors.IsNotFound(err) {
		return errOutdated
	}
	return err
}

func sameDevices(a, b *resourcev1.ResourceClaim) bool {
	return apiequality.Semantic.DeepEqual(a.Status.Allocation.Devices.Results, b.Status.Allocation.Devices.Results)
}

// heldBy returns the claims that keep an unschedulable pod on some nodes, and that no other pod has reserved. An earlier decision, which was not
// carried out, has allocated them.
func (s *Scheduler) heldBy(p *corev1.Pod) (out []*resourcev1.ResourceClaim) {
	if !s.options.AllocateDevices {
		return nil
	}
	for _, name := range claimNames(p) {
		c := s.cluster.ResourceClaim(p.Namespace, name)
		if c == nil || c.Status.Allocation == nil || c.Status.Allocation.NodeSelector == nil {
			continue
		}
		if n := len(c.Status.ReservedFor); n == 0 || n == 1 && isReserved(c, p) {
			out = append(out, c)
		}
	}
	return out
}

// giveBack takes their devices from the claims of an unschedulable pod, so that it can get others, and then retries the pod
// (dynamicresources.go PostFilter, v1.37). Until then nobody decides about the pod.
func (s *Scheduler) giveBack(v verdict, claims []*resourcev1.ResourceClaim, epoch uint64) {
	s.evictions <- func(ctx context.Context) {
		for _, c := range claims {
			err := s.write(ctx, s.inTerm(v.term), func(ctx context.Context) error {
				now, err := s.api.ResourceV1().ResourceClaims(c.Namespace).Get(ctx, c.Name, metav1.GetOptions{})
				if err != nil || now.Status.Allocation == nil || now.UID != c.UID {
					return err
				}
				if n := len(now.Status.ReservedFor); n > 1 || n == 1 && !isReserved(now, v.pod) {
					return nil // another pod uses it by now
				}
				now.Status.Allocation, now.Status.ReservedFor = nil, nil
				stored, err := s.options.Bindings.ResourceV1().ResourceClaims(c.Namespace).UpdateStatus(ctx, now, metav1.UpdateOptions{})
				if err == nil {
					s.cluster.ClaimWritten(stored)
				}
				return err
			})
			if err != nil && !apierrors.IsNotFound(err) && !errors.Is(err, errOutdated) {
				s.log.Error("cannot deallocate a claim of an unschedulable pod", "pod", nameOf(v.pod), "claim", c.Name, "error", err)
			}
		}
		s.leave(ctx, v, epoch)
	}
}
