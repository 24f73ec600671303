package batch

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"golang.org/x/sync/errgroup"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"

	"github.com/stowage-scheduler/stowage/clients/connect"
	"github.com/stowage-scheduler/stowage/clients/live"
)

const (
	// evictionsAtATime is the number of victims of a pod that are evicted concurrently: kube-scheduler's parallelism.
	evictionsAtATime = 16
	// shownFor bounds how long a pod waits for the informer to show that its victims terminate.
	shownFor  = 5 * time.Second
	shownLook = 10 * time.Millisecond
	// conflictsAllowed bounds the attempts of a write that conflicts with others.
	conflictsAllowed = 4
)

// start evicts the victims of nominated pods. The pods are retried when their victims terminate, not before.
func (s *Scheduler) start(e *eviction, epoch uint64) {
	s.evictions <- func(ctx context.Context) {
		begin := time.Now()
		err := s.evict(ctx, e)
		s.metrics.took(ctx, "evict", begin)
		switch {
		case err == nil:
			s.metrics.preemptions.Add(ctx, 1, withResult("evicted"))
		case errors.Is(err, errOutdated), apierrors.IsNotFound(err): // of the pod itself
			s.metrics.preemptions.Add(ctx, 1, withResult("outdated"))
			epoch = anyEpoch
		default:
			s.metrics.preemptions.Add(ctx, 1, withResult("error"))
			epoch = anyEpoch
		}
		now := time.Now()
		for _, v := range e.nominees {
			switch {
			case v.why == failed:
				s.leave(ctx, v, epoch)
			case errors.Is(err, errOutdated) && v.group == "": // decisions about groups take long
				s.pending.again(v.candidate)
			default:
				s.pending.back(v.candidate, now, epoch)
			}
		}
	}
}

// evict nominates pods, and then evicts their victims. With the nominations first, the next leader finds them, and a victim's
// room is never free for pods of lower priority. Otherwise it follows kube-scheduler
// (pkg/scheduler/framework/preemption/executor.go prepareCandidateAsync, v1.37). It sends each write only while all preempting
// pods are pending and nominated, so that no pod is evicted in vain.
func (s *Scheduler) evict(ctx context.Context, e *eviction) error {
	err := s.leads(ctx)
	holds := func() error {
		if !s.pending.evicts(e.nominees) {
			return errOutdated
		}
		return s.inTerm(e.nominees[0].term)()
	}
	for _, v := range e.nominees {
		if err == nil {
			err = s.look(v)
		}
	}
	for i := range e.nominees {
		if err == nil {
			err = s.nominate(ctx, &e.nominees[i], holds)
		}
		if err != nil {
			s.withdraw(ctx, e.nominees[i:], err)
			for j := range e.nominees[:i] { // a group keeps its room as a whole or not at all
				s.clear(ctx, e.nominees[j].pod, e.nominees[j].term)
				e.nominees[j].pod = s.forgetNomination(e.nominees[j].pod)
			}
			return err
		}
	}
	victims := slices.DeleteFunc(slices.Clone(e.victims), func(v victim) bool { return v.DeletionTimestamp != nil })
	for _, v := range e.nominees {
		s.options.Events.Eventf(v.pod, nil, corev1.EventTypeWarning, "FailedScheduling", "Scheduling", "%s", v.message)
		s.metrics.attempts.Add(ctx, 1, withResult(v.why.result()))
		if len(victims) > 0 {
			s.clearBelow(ctx, v)
		}
	}
	s.metrics.violations.Add(ctx, int64(e.violations))
	group, evicting := errgroup.WithContext(ctx)
	group.SetLimit(evictionsAtATime)
	for _, victim := range victims {
		group.Go(func() error { return s.evictOne(evicting, victim, holds) })
	}
	switch err := group.Wait(); {
	case errors.Is(err, errOutdated):
		return err
	case err != nil:
		s.log.Error("cannot evict the victims of a pod; the pod is retried", "pod", nameOf(e.nominees[0].pod), "error", err)
		return err
	}
	s.untilShown(ctx, e.victims)
	return nil
}

func nameOf(p *corev1.Pod) string { return p.Namespace + "/" + p.Name }

// nominate writes the nomination of a pod and the reason why it is pending, as kube-scheduler does in one patch
// (pkg/scheduler/schedule_one.go handleSchedulingFailure, v1.37).
func (s *Scheduler) nominate(ctx context.Context, v *verdict, holds func() error) error {
	s.reports.settle(ctx, v.pod.UID)
	err := s.write(ctx, holds, func(ctx context.Context) error {
		condition, _ := notScheduled(v.pod, v.why.reason(), v.message)
		patched, err := patchStatus(ctx, s.options.Evictions, v.pod, &condition, &v.nominee)
		if err == nil && patched.ResourceVersion != "" && patched.ResourceVersion == v.pod.ResourceVersion {
			s.pending.shown(v.pod.UID) // nothing has changed: no event follows
		}
		return err
	})
	if err == nil {
		s.cluster.Nominated(v.pod.UID)
		s.log.Info("preempting", "pod", nameOf(v.pod), "node", v.nominee)
	}
	return err
}

// withdraw ends nominations that were not written, and reports them on pods that still exist and are not being decided again.
func (s *Scheduler) withdraw(ctx context.Context, nominees []verdict, err error) {
	for i := range nominees {
		v := &nominees[i]
		v.pod = s.forgetNomination(v.pod)
		if !errors.Is(err, errOutdated) && !apierrors.IsNotFound(err) && ctx.Err() == nil {
			s.log.Error("cannot nominate a pod; it evicts nothing", "pod", nameOf(v.pod), "node", v.nominee, "error", err)
			v.message, v.why = "cannot be nominated to "+v.nominee+": "+err.Error(), failed
		}
	}
}

// forgetNomination ends a nomination that no event has shown, and returns the pod of the latest event. If the pod is evicting
// others, the eviction stops.
func (s *Scheduler) forgetNomination(p *corev1.Pod) *corev1.Pod {
	latest := nominatedTo(p, "")
	if o, there, err := s.pods.GetByKey(nameOf(p)); err == nil && there && o.(*corev1.Pod).UID == p.UID {
		latest = o.(*corev1.Pod)
	}
	s.cluster.Withdraw(latest)
	s.pending.withdraw(latest)
	return latest
}

// clearBelow clears nominations to a node of this scheduler's pods with a lower priority, which may no longer fit there. A failure
// does not stop the eviction.
func (s *Scheduler) clearBelow(ctx context.Context, v verdict) {
	for _, p := range s.pending.nominated(v.nominee, priority(v.pod)) {
		s.forgetNomination(p) // it may not be written yet
		s.clear(ctx, p, v.term)
	}
}

// clear clears the nomination of a pod in its status.
func (s *Scheduler) clear(ctx context.Context, p *corev1.Pod, term uint64) {
	err := s.write(ctx, s.inTerm(term), func(ctx context.Context) error {
		_, err := patchStatus(ctx, s.options.Evictions, p, nil, new(string))
		return err
	})
	if err != nil && !apierrors.IsNotFound(err) {
		s.log.Warn("cannot clear the nomination of a pod", "pod", nameOf(p), "node", p.Status.NominatedNodeName, "error", err)
	}
}

// evictOne evicts a victim: it sets the condition with the reason, then deletes the pod if it is still the same pod. A missing
// victim is no error.
func (s *Scheduler) evictOne(ctx context.Context, v victim, holds func() error) error {
	reason := corev1.PodCondition{
		Type: corev1.DisruptionTarget, Status: corev1.ConditionTrue, Reason: corev1.PodReasonPreemptionByScheduler,
		Message:            s.options.SchedulerName + ": preempting to accommodate a higher priority pod",
		ObservedGeneration: v.Generation, LastTransitionTime: metav1.Now(),
	}
	err := s.write(ctx, holds, func(ctx context.Context) error {
		_, err := patchStatus(ctx, s.options.Evictions, v.Pod, &reason, nil)
		return err
	})
	if err == nil {
		err = s.write(ctx, holds, func(ctx context.Context) error {
			return s.options.Evictions.CoreV1().Pods(v.Namespace).Delete(ctx, v.Name,
				metav1.DeleteOptions{Preconditions: metav1.NewUIDPreconditions(string(v.UID))})
		})
	}
	switch {
	case apierrors.IsNotFound(err), apierrors.IsConflict(err) && s.replaced(ctx, v.Pod):
		return nil
	case err != nil:
		return fmt.Errorf("pod %s: %w", nameOf(v.Pod), err)
	}
	s.metrics.victims.Add(ctx, 1)
	s.options.Events.Eventf(v.Pod, v.by, corev1.EventTypeNormal, "Preempted", "Preempting",
		"Preempted by pod %v on node %v", v.by.UID, v.node)
	s.log.Info("evicted", "victim", nameOf(v.Pod), "node", v.node, "pod", nameOf(v.by))
	return nil
}

// replaced reports whether a different pod has the pod's name.
func (s *Scheduler) replaced(ctx context.Context, p *corev1.Pod) bool {
	ctx, cancel := context.WithTimeout(ctx, apiTimeout)
	defer cancel()
	now, err := s.api.CoreV1().Pods(p.Namespace).Get(ctx, p.Name, metav1.GetOptions{})
	return apierrors.IsNotFound(err) || err == nil && now.UID != p.UID
}

// untilShown waits until the informer shows that all victims terminate or are gone, because until then the pod would select
// victims again.
func (s *Scheduler) untilShown(ctx context.Context, victims []victim) {
	ctx, cancel := context.WithTimeout(ctx, shownFor)
	defer cancel()
	for _, v := range victims {
		for {
			o, there, err := s.pods.GetByKey(nameOf(v.Pod))
			if err != nil || !there || o.(*corev1.Pod).UID != v.UID || o.(*corev1.Pod).DeletionTimestamp != nil {
				break
			}
			select {
			case <-ctx.Done():
				return
			case <-time.After(shownLook):
			}
		}
	}
}

// inTerm returns a check that the scheduler leads in a term.
func (s *Scheduler) inTerm(term uint64) func() error {
	return func() error {
		if now := s.options.Lease.Term(); now == 0 || now != term {
			return errOutdated
		}
		return nil
	}
}

// write makes a call of the API server, unless holds returns an error when the client is ready to send. Failed calls, which must
// be idempotent, are retried for a while; conflicts a few times, as in kube-scheduler (pkg/scheduler/util/utils.go PatchPodStatus,
// v1.37).
func (s *Scheduler) write(ctx context.Context, holds func() error, call func(context.Context) error) error {
	backoff := wait.Backoff{Duration: 50 * time.Millisecond, Factor: 2, Jitter: 0.5, Steps: 20, Cap: time.Second}
	conflicts := 0
	for since := time.Now(); ; {
		calling, cancel := context.WithTimeout(ctx, apiTimeout)
		calling, _ = connect.WithLook(calling, holds)
		err := holds()
		if err == nil {
			err = call(calling)
		}
		cancel()
		if apierrors.IsConflict(err) {
			conflicts++
		}
		if err == nil || errors.Is(err, errOutdated) || errors.Is(err, errTakenBack) || live.IsRefusal(err) || conflicts == conflictsAllowed ||
			time.Since(since) > bindFor {
			return err
		}
		select {
		case <-ctx.Done():
			return err
		case <-time.After(backoff.Step()):
		}
	}
}
