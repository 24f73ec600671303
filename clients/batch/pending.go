package batch

import (
	"cmp"
	"maps"
	"math"
	"slices"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	apiequality "k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/types"
)

// Backoff of a pod, as kube-scheduler's (podInitialBackoffSeconds, podMaxBackoffSeconds and
// pod-max-in-unschedulable-pods-duration, v1.37).
const (
	initialBackoff = time.Second
	maximumBackoff = 10 * time.Second
	longestWait    = 5 * time.Minute
)

// anyEpoch makes a pod be retried although nothing has changed.
const anyEpoch = math.MaxUint64

// candidate is a pod to place.
type candidate struct {
	pod     *corev1.Pod
	arrived time.Time
}

// pendingPods is the scheduling queue. It is safe for concurrent use.
type pendingPods struct {
	mutex sync.Mutex
	pods  map[types.UID]*pendingPod
	// more receives a value when the queue has new work.
	more chan struct{}
}

type pendingPod struct {
	candidate
	state    state
	attempts int
	tried    uint64    // the epoch of its last failed attempt
	after    time.Time // the end of its backoff
	nominee  bool      // pod has a nominated node that no event has shown
	// makesRoom is the node on which it evicts others, "" once its nomination has ended.
	makesRoom string
}

type state int

const (
	waiting  state = iota
	placing        // taken from the queue
	binding        // it has a node
	evicting       // its victims are being evicted
)

func newPendingPods() *pendingPods {
	return &pendingPods{pods: map[types.UID]*pendingPod{}, more: make(chan struct{}, 1)}
}

// put adds or updates a pod. A changed pod counts as new.
func (q *pendingPods) put(pod *corev1.Pod, now time.Time) {
	q.mutex.Lock()
	defer q.mutex.Unlock()
	p, known := q.pods[pod.UID]
	if !known {
		p = &pendingPod{candidate: candidate{arrived: now}}
		q.pods[pod.UID] = p
	}
	if p.nominee {
		if node := p.pod.Status.NominatedNodeName; pod.Status.NominatedNodeName == node {
			p.nominee = false
		} else {
			pod = nominatedTo(pod, node) // the event is older than the decision
		}
	}
	if !known || changed(p.pod, pod) {
		p.attempts = 0
		q.wake()
	}
	p.pod = pod
}

// changed reports whether a field has changed on which decisions depend. In the status, only the nominated node and the
// names of resource claims count.
func changed(from, to *corev1.Pod) bool {
	return from.Generation != to.Generation || !maps.Equal(from.Labels, to.Labels) ||
		from.Status.NominatedNodeName != to.Status.NominatedNodeName ||
		!apiequality.Semantic.DeepEqual(from.Status.ResourceClaimStatuses, to.Status.ResourceClaimStatuses)
}

// remove removes a bound or deleted pod.
func (q *pendingPods) remove(uid types.UID) {
	q.mutex.Lock()
	defer q.mutex.Unlock()
	delete(q.pods, uid)
}

// take returns about limit due pods in scheduling order; if one pod of a group is due, it returns the whole group. Unless more pods
// are due, next is when to call again if nothing happens, zero for never.
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

// unit is one pod, or the pods of a group in order.
type unit []*pendingPod

// units returns the waiting units in no particular order.
func (q *pendingPods) units() []unit {
	var out []unit
	groups := map[groupKey]unit{}
	busy := map[groupKey]bool{} // a group is skipped while one of its pods is being placed or bound
	for _, p := range q.pods {
		key, grouped := groupOf(p.pod)
		switch {
		case p.state == placing, p.state == evicting:
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

// due returns when to try a unit if nothing else happens: immediately if a pod is new, after the backoff if something has changed
// since the last attempt.
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

// current returns the pods that still wait for a node, in their latest versions. A pod that has moved to another group is taken
// again with that group.
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

// bind marks pods as being bound.
func (q *pendingPods) bind(pods ...candidate) {
	q.mutex.Lock()
	defer q.mutex.Unlock()
	for _, c := range pods {
		if p := q.pods[c.pod.UID]; p != nil {
			p.state = binding
		}
	}
}

// evict marks nominated pods as evicting others.
func (q *pendingPods) evict(pods ...candidate) {
	q.mutex.Lock()
	defer q.mutex.Unlock()
	for _, c := range pods {
		if p := q.pods[c.pod.UID]; p != nil {
			node := c.pod.Status.NominatedNodeName
			p.state, p.pod, p.nominee, p.makesRoom = evicting, nominatedTo(p.pod, node), true, node
		}
	}
}

// evicts reports whether pods are pending and evicting others, each for the node that it is still nominated to.
func (q *pendingPods) evicts(nominees []verdict) bool {
	q.mutex.Lock()
	defer q.mutex.Unlock()
	return !slices.ContainsFunc(nominees, func(v verdict) bool {
		p := q.pods[v.pod.UID]
		return p == nil || p.state != evicting || p.makesRoom != v.nominee || p.pod.Status.NominatedNodeName != v.nominee
	})
}

// withdraw ends the unwritten nomination of a pod, which then evicts no others. The argument is the pod without the nomination.
func (q *pendingPods) withdraw(pod *corev1.Pod) {
	q.mutex.Lock()
	defer q.mutex.Unlock()
	p := q.pods[pod.UID]
	if p == nil {
		return
	}
	p.makesRoom = ""
	if p.nominee {
		p.pod, p.nominee = pod, false
	}
}

// shown records that the latest event of a pod has its nomination.
func (q *pendingPods) shown(uid types.UID) {
	q.mutex.Lock()
	defer q.mutex.Unlock()
	if p := q.pods[uid]; p != nil {
		p.nominee = false
	}
}

// nominated returns the pods that are nominated to a node and have a priority below a limit.
func (q *pendingPods) nominated(node string, below int32) (out []*corev1.Pod) {
	q.mutex.Lock()
	defer q.mutex.Unlock()
	for _, p := range q.pods {
		if p.pod.Status.NominatedNodeName == node && priority(p.pod) < below {
			out = append(out, p.pod)
		}
	}
	return out
}

// back puts a pod that found no node in this epoch back into the queue.
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

// again puts pods, all or none, back into the queue for an immediate retry.
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

// retry lets a waiting pod be retried although nothing has changed.
func (q *pendingPods) retry(uid types.UID) {
	q.mutex.Lock()
	defer q.mutex.Unlock()
	if p := q.pods[uid]; p != nil {
		p.tried = anyEpoch
		q.wake()
	}
}

// counts returns the numbers of waiting and taken pods.
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

// inOrder is kube-scheduler's order, completed to a total order.
func inOrder(a, b *pendingPod) int {
	return cmp.Or(
		cmp.Compare(priority(b.pod), priority(a.pod)),
		a.pod.CreationTimestamp.Compare(b.pod.CreationTimestamp.Time),
		a.arrived.Compare(b.arrived),
		cmp.Compare(a.pod.UID, b.pod.UID),
	)
}

// nominatedTo returns a pod with a nominated node.
func nominatedTo(p *corev1.Pod, node string) *corev1.Pod {
	out := *p
	out.Status.NominatedNodeName = node
	return &out
}

func priority(p *corev1.Pod) int32 {
	if p.Spec.Priority == nil {
		return 0
	}
	return *p.Spec.Priority
}
