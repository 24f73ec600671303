package oracle

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"time"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/klog/v2"
	extenderv1 "k8s.io/kube-scheduler/extender/v1"
	fwk "k8s.io/kube-scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler"
	"k8s.io/kubernetes/pkg/scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins/defaultpreemption"
	"k8s.io/kubernetes/pkg/scheduler/framework/preemption"

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

// observe puts what watches the scheduler, and chooses for it, between its parts.
func (q *Queue) observe() error {
	for _, p := range q.framework.PreEnqueuePlugins() {
		if p, ok := p.(*defaultpreemption.DefaultPreemption); ok {
			q.preempts = p
		}
	}
	if q.preempts == nil {
		return errors.New("the profile has no DefaultPreemption")
	}
	q.preempts.Evaluator.Interface = &observedPreemption{Interface: q.preempts.Evaluator.Interface, q: q}
	q.preempts.Evaluator.Handler = &notingHandle{q.preempts.Evaluator.Handler, q.Scheduler}

	next, fail := q.scheduler.NextEntity, q.scheduler.FailureHandler
	q.scheduler.NextEntity = func(logger klog.Logger) (framework.QueuedEntityInfo, error) {
		entity, err := next(logger)
		if info, ok := entity.(*framework.QueuedPodGroupInfo); ok && err == nil {
			q.beginGroup(info)
		}
		if info, ok := entity.(*framework.QueuedPodInfo); ok && err == nil {
			q.attempt.uid = info.Pod.UID
			if q.attempt.pod = q.byUID[info.Pod.UID]; q.attempt.pod != nil {
				q.attempt.pod.Attempts++
			}
		}
		return entity, err
	}
	q.scheduler.SchedulePod = q.observeScheduling
	q.scheduler.FailureHandler = func(
		ctx context.Context, f framework.Framework, info *framework.QueuedPodInfo, status *fwk.Status, n *fwk.NominatingInfo,
		start time.Time,
	) {
		if q.attempt.group != nil {
			q.attempt.group.failed(info.Pod, status, n)
			fail(ctx, f, info, status, n, start)
			return
		}
		if q.attempt.chosen {
			q.failures <- status.AsError() // the binding cycle has failed
			return
		}
		q.attempt.failed = true
		if q.attempt.pod != nil {
			q.attempt.pod.Message = status.Message()
		}
		if n.Mode() == fwk.ModeOverride {
			q.attempt.nominated = n.NominatedNodeName
		}
		fail(ctx, f, info, status, n, start)
	}
	return nil
}

// observeScheduling is schedulePod with the choice among the best nodes. Details come from the plugins, as in Decide.
func (q *Queue) observeScheduling(
	ctx context.Context, f framework.Framework, state fwk.CycleState, info *framework.QueuedPodInfo,
) (scheduler.ScheduleResult, error) {
	result, err := q.schedulePod(ctx, f, state, info)
	if q.attempt.group != nil && q.snapshot.NumNodesInPlacement() == 0 {
		return result, err
	}
	d, failure := q.details(info.Pod)
	if failure == nil {
		failure = q.agrees(result, err, d)
	}
	if failure != nil {
		q.attempt.err = failure
		return scheduler.ScheduleResult{}, failure
	}
	if g := q.attempt.group; g != nil {
		if !g.trial {
			g.decisions[info.Pod.UID] = d
		}
		if err == nil {
			result.SuggestedHost = q.Nodes[q.choose(d.Best)].Name
		}
		return result, err
	}
	if q.attempt.pod != nil {
		q.attempt.pod.Last = d
	}
	if err == nil {
		node := q.choose(d.Best)
		result.SuggestedHost = q.Nodes[node].Name
		q.attempt.chosen = true
		if q.attempt.pod != nil {
			q.attempt.pod.Node = node
		}
	}
	return result, err
}

// observedPreemption is DefaultPreemption's part in its evaluator.
type observedPreemption struct {
	preemption.Interface
	q *Queue
}

// SelectVictimsOnNode remembers the victims.
func (o *observedPreemption) SelectVictimsOnNode(
	ctx context.Context, state fwk.CycleState, pod *corev1.Pod, node fwk.NodeInfo, possible []*preemption.DomainVictim,
	budgets []*policyv1.PodDisruptionBudget,
) ([]*corev1.Pod, int, *fwk.Status) {
	name := node.Node().Name
	victims, violations, status := o.Interface.SelectVictimsOnNode(ctx, state, pod, node, possible, budgets)
	if status.IsSuccess() {
		o.q.attempt.victims[name] = &extenderv1.Victims{Pods: victims, NumPDBViolations: int64(violations)}
	}
	return victims, violations, status
}

// OrderedScoreFuncs prefers the first of the nodes among which kube-scheduler chooses by the order of a map.
func (o *observedPreemption) OrderedScoreFuncs(
	ctx context.Context, victims map[string]*extenderv1.Victims,
) []func(node string) int64 {
	var candidates []Candidate
	var found []preemption.Candidate
	for i, n := range o.q.Nodes {
		if v, ok := victims[n.Name]; ok {
			candidates = append(candidates, Candidate{Node: uint32(i), Violations: int(v.NumPDBViolations), Victims: o.q.victims(v.Pods)})
			found = append(found, candidateOf{n.Name, v})
		}
	}
	first := best(candidates)
	for range picks {
		own := o.q.preemption.Evaluator.SelectCandidate(ctx, found)
		if !slices.Contains(first, o.q.index[own.Name()]) {
			o.q.attempt.err = fmt.Errorf("kube-scheduler prefers %s, the best candidates are %v", own.Name(), first)
		}
	}
	return []func(string) int64{func(node string) int64 {
		if o.q.index[node] == first[0] {
			return 1
		}
		return 0
	}}
}

// candidateOf is a candidate of an evaluator.
type candidateOf struct {
	name    string
	victims *extenderv1.Victims
}

func (c candidateOf) Name() string                 { return c.name }
func (c candidateOf) Victims() *extenderv1.Victims { return c.victims }
func (c candidateOf) NumPodGroupDisruptions() int  { return 0 }

func (q *Queue) victims(pods []*corev1.Pod) []Victim {
	var out []Victim
	for _, p := range pods {
		v := Victim{p, -1, q.index[p.Spec.NodeName]}
		if pod := q.byUID[p.UID]; pod != nil {
			v.Pod, v.Entry = q.Queue[pod.Entry], pod.Entry
		}
		out = append(out, v)
	}
	return out
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
