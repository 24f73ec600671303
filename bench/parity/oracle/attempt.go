package oracle

import (
	"fmt"
	"net/http"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	extenderv1 "k8s.io/kube-scheduler/extender/v1"
)

// attempt records the current attempt.
type attempt struct {
	pod       *QueuedPod
	uid       types.UID
	err       error
	chosen    bool
	failed    bool
	nominated string
	// victims are DefaultPreemption's by node.
	victims map[string]*extenderv1.Victims
	group   *groupAttempt // nil for a pod alone
}

// once attempts one pod, and hands over the events.
func (q *Queue) once(round int) error {
	q.attempt = attempt{victims: map[string]*extenderv1.Victims{}}
	q.scheduler.ScheduleOne(q.ctx)
	a := &q.attempt
	if a.err != nil {
		return a.err
	}
	if a.group != nil {
		return q.groupAttempted(round)
	}
	if a.pod == nil {
		return fmt.Errorf("a pod that is not in the queue was attempted: %s", a.uid)
	}
	switch {
	case a.chosen && !a.failed:
		select {
		case <-q.api.bound:
		case err := <-q.failures:
			return fmt.Errorf("binding %s: %w", a.pod.key, err)
		}
		if err := q.bound(); err != nil {
			return err
		}
		a.pod.Placed, a.pod.Round = q.api.placed, round
	case a.failed:
		if err := q.rejected(); err != nil {
			return err
		}
	default:
		return fmt.Errorf("%s was neither placed nor rejected", a.pod.key)
	}
	if pods := q.scheduler.SchedulingQueue.InFlightPods(); len(pods) > 0 {
		return fmt.Errorf("%s is still being scheduled", pods[0].Name)
	}
	return nil
}

// bound hands over the binding of the pod.
func (q *Queue) bound() error {
	pod, writes := q.attempt.pod, q.api.take()
	pod.Bindings = q.boundBy(pod.uid, pod.Entry)
	for len(writes) > 1 && writes[0].method == http.MethodPatch && writes[0].key == pod.key {
		// It is nominated to its node while its volumes are bound.
		if err := q.api.patch(writes[0].key, writes[0].body); err != nil {
			return err
		}
		writes = writes[1:]
	}
	if len(writes) != 1 || writes[0].method != http.MethodPost || writes[0].key != pod.key {
		return fmt.Errorf("%s was bound with %d writes", pod.key, len(writes))
	}
	return q.api.bind(pod.key, q.Nodes[pod.Node].Name)
}

// rejected hands over what the failure to place a pod, and its preemption, have changed.
func (q *Queue) rejected() error {
	a := &q.attempt
	evicts := a.victims[a.nominated]
	if (a.nominated != "") != (evicts != nil) {
		return fmt.Errorf("%s is nominated to %q with the victims %v", a.pod.key, a.nominated, evicts)
	}
	// A goroutine evicts the victims; the pod counts as preempting until it has ended (executor.go prepareCandidateAsync, v1.37).
	for deadline := time.Now().Add(30 * time.Second); q.preempts.Executor.IsPodRunningPreemption(a.uid); {
		if time.Now().After(deadline) {
			return fmt.Errorf("the preemption of %s does not end", a.pod.key)
		}
		time.Sleep(20 * time.Microsecond)
	}
	writes := q.api.take()
	deliver := func(method string, of func(key string) bool) (n int, err error) {
		for i, w := range writes {
			if w.method != method || !of(w.key) || err != nil {
				continue
			}
			writes[i].method = ""
			n++
			if method == http.MethodPatch {
				err = q.api.patch(w.key, w.body)
			}
		}
		return n, err
	}
	is := func(key string) func(string) bool { return func(k string) bool { return k == key } }
	victim := func(string) bool { return false }
	if evicts != nil {
		victim = func(key string) bool {
			return slices.ContainsFunc(evicts.Pods, func(p *corev1.Pod) bool { return p.Namespace+"/"+p.Name == key })
		}
	}
	if _, err := deliver(http.MethodPatch, is(a.pod.key)); err != nil {
		return err
	}
	if _, err := deliver(http.MethodPatch, func(key string) bool { return !victim(key) }); err != nil {
		return err
	}
	if evicts != nil {
		for _, p := range evicts.Pods {
			key := p.Namespace + "/" + p.Name
			if _, err := deliver(http.MethodPatch, is(key)); err != nil {
				return err
			}
			switch n, err := deliver(http.MethodDelete, is(key)); {
			case err != nil:
				return err
			case (n == 1) != (p.DeletionTimestamp == nil):
				return fmt.Errorf("%s was deleted %d times", key, n)
			}
			if err := q.api.remove(key); err != nil {
				return err
			}
		}
	}
	for _, w := range writes {
		if w.method != "" {
			return fmt.Errorf("%s changes %s as well: %s", a.pod.key, w.key, w.method)
		}
	}
	if evicts != nil {
		return q.evicted(evicts)
	}
	return nil
}

func (q *Queue) evicted(victims *extenderv1.Victims) error {
	a := &q.attempt
	for _, p := range victims.Pods {
		if pod := q.byUID[p.UID]; pod != nil {
			pod.Evicted = true
		}
	}
	q.evictions = append(q.evictions, Eviction{
		Entry: a.pod.Entry, Node: q.index[a.nominated], Victims: q.victims(victims.Pods),
		Violations: int(victims.NumPDBViolations), preemptor: a.pod,
	})
	return q.comeBack(victims.Pods)
}
