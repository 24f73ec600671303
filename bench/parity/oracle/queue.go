package oracle

import (
	"errors"
	"fmt"
	"slices"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/kubernetes/pkg/scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins/defaultpreemption"

	"github.com/stowage-scheduler/stowage/bench/parity/scenario"
)

// Queue is a whole kube-scheduler that runs a case's queue: its scheduling queue with queueing hints and backoff, its event
// handlers, its scheduling and binding cycles and its preemption. Feature gates are as by default, but for
// OpportunisticBatching. What surrounds it is decided here:
//
//   - The pods of the queue are created in its order before the first attempt. A nominated pod that is not in the queue is
//     created with a scheduling gate, so that it is never attempted.
//   - Between two calls of ScheduleOne, the binding cycle and the eviction of victims, which are goroutines, have ended, and all
//     events are handed to the scheduler's handlers, one by one, from this goroutine: of a placed pod its binding; of a rejected
//     one the change of its status, then the nominations that other pods lose, then the victims in their order, each with its
//     condition and its deletion. So no event comes while a pod is being scheduled.
//   - The clock of the queue moves one microsecond when it is read, so that no backoff elapses. When no pod is left but those
//     that wait, it moves on by ten minutes, after which every backoff has elapsed, and every pod has waited longer than
//     podMaxInUnschedulablePodsDuration: what flushBackoffQCompleted and flushUnschedulableEntitiesLeftover do then is done by
//     Activate for the pods that back off, and by MoveAllToActiveOrBackoffQueue with the same event for the others. The queue
//     ends when such a round places and evicts no pod.
//   - Victims that terminate already, which kube-scheduler does not delete again, leave with the others.
//   - Where kube-scheduler takes any of several best nodes, by chance or by the order of a map, the contract's is taken. That its
//     own choice is among them is checked at every step.
type Queue struct {
	*Scheduler
	api       *apiServer
	choose    func(best []uint32) uint32
	preempts  *defaultpreemption.DefaultPreemption // the profile's own
	failures  chan error
	pods      []*QueuedPod // in the order of creation
	byUID     map[types.UID]*QueuedPod
	evictions []Eviction
	attempt   attempt
	groups    map[string]*QueuedGroup

	controllers *Controllers // nil if nothing creates preempted pods again
}

// QueuedPod is a pod of the queue, and its result.
type QueuedPod struct {
	// Entry is its entry of the queue.
	Entry    int
	Attempts int
	// Placed counts from 1 in the order of placing; 0 if it was never placed.
	Placed  int
	Node    uint32
	Evicted bool
	// Returned says that its controller created it again.
	Returned bool
	// Round is the number of times that time had passed before it was placed.
	Round int
	// Last is the decision of the last attempt, and Message its text. Both are of the scheduling gate if there was none. Of a pod of
	// a group, Last is nil if it was not attempted itself.
	Last    *Decision
	Message string
	// Failed says that the last attempt ended with an internal error.
	Failed bool
	// Grouped says that it is in a pod group.
	Grouped bool
	// Bindings are the claims that it bound.
	Bindings []Binding

	key     string
	uid     types.UID
	returns int // how often its controller had created it again
}

// Eviction is the victims of one preemption.
type Eviction struct {
	Entry      int
	Node       uint32
	Victims    []Victim
	Violations int
	// Placed says that the preemptor was placed on the node later.
	Placed bool
	// Group is the name of the group that preempted; empty for a pod. Nominated has the nodes then that the pods of the group are
	// nominated to, by entry.
	Group     string
	Nominated map[int][]uint32
	// Unordered says that it is not known in which order the victims of a group leave, and how many violate a budget, as all of them
	// terminate already.
	Unordered bool

	preemptor *QueuedPod
}

// QueueResult is how a queue ended.
type QueueResult struct {
	Pods      []*QueuedPod
	Evictions []Eviction
	// Groups are the pod groups by name.
	Groups map[string]*QueuedGroup
	// Nominated says of each of the case's nominated pods whether it still is one.
	Nominated []bool
	// Rounds is how often time passed, and Fruitful how often a pod was placed or evicted then.
	Rounds, Fruitful int
}

// NewQueue makes a scheduler that runs the case's queue. Among equally good nodes, choose picks. Close it.
func NewQueue(c *scenario.Case, choose func(best []uint32) uint32) (*Queue, error) {
	if err := admitQueue(c); err != nil {
		return nil, err
	}
	api, err := newAPIServer()
	if err != nil {
		return nil, err
	}
	s, err := newScheduler(c, Options{}, api)
	if err != nil {
		return nil, err
	}
	q := &Queue{
		Scheduler: s, api: api, choose: choose, failures: make(chan error, 1), byUID: map[types.UID]*QueuedPod{},
		groups: map[string]*QueuedGroup{},
	}
	s.whole = q
	if err := errors.Join(q.observe(), q.create(c)); err != nil {
		q.Close()
		return nil, err
	}
	return q, nil
}

// admitQueue refuses what a queue of a cluster cannot have.
func admitQueue(c *scenario.Case) error {
	invalid := func(i int, path, text string) error {
		errs := field.ErrorList{field.Forbidden(field.NewPath("queue").Index(i).Child(path), text)}
		return &InvalidError{Object: fmt.Sprintf("queue[%d]", i), Errs: errs}
	}
	if c.Candidates != nil || len(c.Nodes) == 0 {
		return &InvalidError{Object: "candidates", Errs: field.ErrorList{field.Forbidden(field.NewPath("candidates"), "all nodes are")}}
	}
	var pods []*corev1.Pod
	for i, q := range c.Queue {
		switch {
		case q.Pod == nil:
			return invalid(i, "pod", "missing")
		case q.Pod.Spec.NodeName != "" || q.Pod.DeletionTimestamp != nil:
			return invalid(i, "pod", "is not pending")
		case q.Pod.Status.NominatedNodeName != "" && q.Count != 1:
			return invalid(i, "count", "one pod is nominated")
		}
		pods = append(pods, q.Pod)
	}
	if i := slices.Index(scenario.Twins(pods, c.Nominated), true); i >= 0 {
		return invalid(i, "pod", "is nominated elsewhere")
	}
	return nil
}

// create creates the pods without a node.
func (q *Queue) create(c *scenario.Case) error {
	q.createGroups()
	for _, p := range q.Nominated {
		held := p.DeepCopy()
		held.Spec.SchedulingGates = append(held.Spec.SchedulingGates, corev1.PodSchedulingGate{Name: "parity.example.com/held-back"})
		if err := q.api.create(held); err != nil {
			return err
		}
	}
	for i, entry := range c.Queue {
		gate, err := q.gate(q.Queue[i])
		if err != nil {
			return err
		}
		for n := range entry.Count {
			pod := q.Queue[i].DeepCopy()
			if n > 0 {
				pod.Name = fmt.Sprintf("%s.%d", pod.Name, n)
				pod.UID = types.UID(fmt.Sprintf("%s.%d", pod.UID, n))
			}
			queued := &QueuedPod{Entry: i, Grouped: GroupOf(pod) != "", key: pod.Namespace + "/" + pod.Name, uid: pod.UID}
			if gate != nil {
				queued.Last, queued.Message = &Decision{Gate: gate}, gate.Reasons[0]
			}
			q.pods, q.byUID[pod.UID] = append(q.pods, queued), queued
			if err := q.api.create(pod); err != nil {
				return err
			}
		}
	}
	return nil
}

// manyAttempts is more than any case has.
const manyAttempts = 20_000

// Run runs the queue to its end. A Queue is used up then.
func (q *Queue) Run() (*QueueResult, error) {
	out := &QueueResult{}
	for attempts := 0; ; out.Rounds++ {
		placed, evictions := q.api.placed, len(q.evictions)
		for q.left() {
			if attempts++; attempts > manyAttempts {
				return nil, errors.New("the queue does not end")
			}
			if err := q.once(out.Rounds); err != nil {
				return nil, err
			}
		}
		changed := placed != q.api.placed || evictions != len(q.evictions)
		if out.Rounds > 0 && !changed {
			break
		}
		if out.Rounds > 0 {
			out.Fruitful++
		}
		q.pass()
	}
	for i := range q.evictions {
		e := &q.evictions[i]
		e.Placed = e.preemptor.Placed > 0 && (e.Group != "" || e.preemptor.Node == e.Node)
	}
	if err := q.waiting(); err != nil {
		return nil, err
	}
	out.Pods, out.Evictions, out.Groups = q.pods, q.evictions, q.groups
	for _, p := range q.Nominated {
		now, err := q.api.get(p.Namespace + "/" + p.Name)
		if err != nil {
			return nil, err
		}
		out.Nominated = append(out.Nominated, now.Status.NominatedNodeName != "")
	}
	return out, nil
}

// left reports whether Pop has a pod to return. Pop returns no group, and no pod that an internal error sent to the backoff queue
// (backoff_queue.go popBackoff, v1.37).
func (q *Queue) left() bool {
	queue := q.scheduler.SchedulingQueue
	return len(queue.PodsInActiveQ()) > 0 || slices.ContainsFunc(queue.PodsInBackoffQ(), func(p *corev1.Pod) bool {
		info, ok := queue.GetPod(p.Name, p.Namespace, p.Spec.SchedulingGroup)
		return ok && p.Spec.SchedulingGroup == nil && len(info.UnschedulablePlugins)+len(info.PendingPlugins) > 0
	})
}

// pass lets time pass.
func (q *Queue) pass() {
	q.api.clock.pass()
	queue, backingOff := q.scheduler.SchedulingQueue, map[string]*corev1.Pod{}
	for _, p := range queue.PodsInBackoffQ() {
		backingOff[p.Namespace+"/"+p.Name] = p
	}
	queue.Activate(logr.Discard(), backingOff)
	queue.MoveAllToActiveOrBackoffQueue(logr.Discard(), framework.EventUnschedulableTimeout, nil, nil, nil)
}
