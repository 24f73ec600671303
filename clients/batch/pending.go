package batch

import (
	"cmp"
	"maps"
	"math"
	"slices"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
)

// How soon a pod is tried again, as kube-scheduler does (podInitialBackoffSeconds, podMaxBackoffSeconds and
// pod-max-in-unschedulable-pods-duration, v1.37).
const (
	initialBackoff = time.Second
	maximumBackoff = 10 * time.Second
	longestWait    = 5 * time.Minute
)

// anyEpoch is the epoch of a pod that is to be tried again though nothing has changed.
const anyEpoch = math.MaxUint64

// candidate is a pod that is to be placed.
type candidate struct {
	pod     *corev1.Pod
	arrived time.Time
}

// pendingPods is the pods that wait for a node. It is safe for concurrent use.
type pendingPods struct {
	mutex sync.Mutex
	pods  map[types.UID]*pendingPod
	// more has a value when there is something new to look at.
	more chan struct{}
}

type pendingPod struct {
	candidate
	state    state
	attempts int
	tried    uint64    // the epoch in which it found no node
	after    time.Time // when it may be tried again
}

type state int

const (
	waiting state = iota
	placing       // it has been taken
	binding       // it has a node
)

func newPendingPods() *pendingPods {
	return &pendingPods{pods: map[types.UID]*pendingPod{}, more: make(chan struct{}, 1)}
}

// put adds a pod, or replaces what is known of it. One that has changed is new again.
func (q *pendingPods) put(pod *corev1.Pod, now time.Time) {
	q.mutex.Lock()
	defer q.mutex.Unlock()
	p, known := q.pods[pod.UID]
	if !known {
		p = &pendingPod{candidate: candidate{arrived: now}}
		q.pods[pod.UID] = p
	}
	if !known || changed(p.pod, pod) {
		p.attempts = 0
		q.wake()
	}
	p.pod = pod
}

// changed tells whether a pod has changed in what decisions depend on: not in its status alone.
func changed(from, to *corev1.Pod) bool {
	return from.Generation != to.Generation || !maps.Equal(from.Labels, to.Labels)
}

// remove forgets a pod that has been bound or is gone.
func (q *pendingPods) remove(uid types.UID) {
	q.mutex.Lock()
	defer q.mutex.Unlock()
	delete(q.pods, uid)
}

// take takes the pods that are due, up to about a number of them, in the order in which they are to be placed; of a group
// all pods if one is due. Unless there are more, next is when to take again if nothing happens, zero if never.
func (q *pendingPods) take(now time.Time, epoch uint64, limit int) (taken []candidate, next time.Time) {
	q.mutex.Lock()
	defer q.mutex.Unlock()
	var units []unit
	for _, u := range q.units() {
		if at := u.due(epoch); !at.After(now) {
			units = append(units, u)
		} else if next.IsZero() || at.Before(next) {
			next = at
		}
	}
	slices.SortFunc(units, func(a, b unit) int { return inOrder(a[0], b[0]) })
	for _, u := range units {
		if len(taken) >= limit {
			return taken, now
		}
		for _, p := range u {
			p.state = placing
			taken = append(taken, p.candidate)
		}
	}
	return taken, next
}

// unit is a pod, or a group's pods in order, that are placed together.
type unit []*pendingPod

// units is what waits, in no order.
func (q *pendingPods) units() []unit {
	var out []unit
	groups := map[groupKey]unit{}
	busy := map[groupKey]bool{} // a group waits until all of its pods do
	for _, p := range q.pods {
		key, grouped := groupOf(p.pod)
		switch {
		case p.state == placing:
			busy[key] = true
		case p.state == binding:
		case grouped:
			groups[key] = append(groups[key], p)
		default:
			out = append(out, unit{p})
		}
	}
	for key, u := range groups {
		if !busy[key] {
			slices.SortFunc(u, inOrder)
			out = append(out, u)
		}
	}
	return out
}

// due is when to try a unit if nothing else happens: at once if a pod is new, after its backoff if something has changed
// since it was tried.
func (u unit) due(epoch uint64) time.Time {
	var out time.Time
	for i, p := range u {
		at := p.after
		if p.attempts > 0 && p.tried == epoch {
			at = at.Add(longestWait)
		}
		if i == 0 || at.Before(out) {
			out = at
		}
	}
	return out
}

// current is those of some pods that have been taken which still wait for a node, as they are by now. One that is in
// another group by now is taken again, with that.
func (q *pendingPods) current(taken []candidate) []candidate {
	q.mutex.Lock()
	defer q.mutex.Unlock()
	var out []candidate
	for _, c := range taken {
		p := q.pods[c.pod.UID]
		if p == nil {
			continue
		}
		was, _ := groupOf(c.pod)
		if is, _ := groupOf(p.pod); is != was {
			p.state = waiting
			q.wake()
			continue
		}
		out = append(out, p.candidate)
	}
	return out
}

// bind says of pods that have been taken that they have a node.
func (q *pendingPods) bind(pods ...candidate) {
	q.mutex.Lock()
	defer q.mutex.Unlock()
	for _, c := range pods {
		if p := q.pods[c.pod.UID]; p != nil {
			p.state = binding
		}
	}
}

// back gives a pod back for which there is no node in this epoch.
func (q *pendingPods) back(c candidate, now time.Time, epoch uint64) {
	q.mutex.Lock()
	defer q.mutex.Unlock()
	p := q.pods[c.pod.UID]
	if p == nil {
		return
	}
	p.state = waiting
	if !changed(p.pod, c.pod) {
		p.after = now.Add(min(initialBackoff<<min(p.attempts, 10), maximumBackoff))
		p.attempts++
		p.tried = epoch
	}
	q.wake()
}

// again gives pods back, all or none, that are to be placed anew at once.
func (q *pendingPods) again(pods ...candidate) {
	q.mutex.Lock()
	defer q.mutex.Unlock()
	for _, c := range pods {
		if p := q.pods[c.pod.UID]; p != nil {
			p.state, p.tried = waiting, anyEpoch
		}
	}
	q.wake()
}

// retry has a pod that waits be tried again though nothing has changed.
func (q *pendingPods) retry(uid types.UID) {
	q.mutex.Lock()
	defer q.mutex.Unlock()
	if p := q.pods[uid]; p != nil {
		p.tried = anyEpoch
		q.wake()
	}
}

// counts is how many pods wait and how many have been taken.
func (q *pendingPods) counts() (waits, taken int) {
	q.mutex.Lock()
	defer q.mutex.Unlock()
	for _, p := range q.pods {
		if p.state == waiting {
			waits++
		} else {
			taken++
		}
	}
	return waits, taken
}

func (q *pendingPods) wake() {
	select {
	case q.more <- struct{}{}:
	default:
	}
}

// inOrder is kube-scheduler's order, and a total one.
func inOrder(a, b *pendingPod) int {
	return cmp.Or(
		cmp.Compare(priority(b.pod), priority(a.pod)),
		a.pod.CreationTimestamp.Compare(b.pod.CreationTimestamp.Time),
		a.arrived.Compare(b.arrived),
		cmp.Compare(a.pod.UID, b.pod.UID),
	)
}

func priority(p *corev1.Pod) int32 {
	if p.Spec.Priority == nil {
		return 0
	}
	return *p.Spec.Priority
}
