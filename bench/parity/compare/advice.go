package compare

import (
	"context"
	"errors"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/stowage-scheduler/stowage/bench/conformance"
	"github.com/stowage-scheduler/stowage/bench/parity/oracle"
	"github.com/stowage-scheduler/stowage/bench/parity/scenario"
	"github.com/stowage-scheduler/stowage/clients/advice"
	"github.com/stowage-scheduler/stowage/clients/kube"
	stowagev1 "github.com/stowage-scheduler/stowage/proto/stowage/v1"
)

// runAdvice makes each piece of advice about a workload without enough nodes, and has kube-scheduler place its pods. In return
// kube-scheduler tries every change of the kinds that are advised, and each that helps must be among the advice.
func runAdvice(ctx context.Context, c *scenario.Case, stowage conformance.Service) (*Result, error) {
	s, err := oracle.New(c)
	if err != nil {
		return nil, err
	}
	s.Close()
	r := &Result{Remedies: &Remedies{}}
	w, err := newAdvised(c)
	if err != nil || len(w.pods) == 0 {
		return r, err
	}
	q, err := w.question(ctx, stowage)
	if err != nil {
		r.differ("queue[0]", "advice: the question fails", err)
		return r, nil
	}
	if q == nil {
		return r, nil
	}
	r.Remedies.Pods++
	all, err := q.Find(ctx)
	if err != nil {
		r.differ("queue[0]", "advice fails", err)
		return r, nil
	}
	if len(all) > 0 {
		r.Remedies.Helped++
	}
	for i := range all {
		kind := "advice " + string(all[i].Kind)
		count(&r.Remedies.Kinds, kind, 1)
		if all[i].Fix == nil {
			count(&r.Remedies.Unwritten, kind, 1)
		}
		if err := w.holds(&all[i]); err != nil {
			r.differ(all[i].Text, kind, err)
		}
	}
	return r, w.missing(r, all)
}

// advised is a workload whose pods the queue begins with, as kube-scheduler finds it.
type advised struct {
	*scenario.Case
	snapshot *kube.Snapshot
	entries  []kube.Entry
	pods     []*corev1.Pod // of the workload, in the queue
	siblings []*corev1.Pod // of the workload, on nodes
	workload kube.Origin
	placed   int // of pods, without a change
	offered  []*stowagev1.Change
	preempts bool // whether kube-scheduler finds victims for the pods as they are
}

func newAdvised(c *scenario.Case) (*advised, error) {
	b := kube.NewBuilder(kube.Options{SchedulerName: kube.AnyScheduler, GivenOrder: true})
	queue := make([]*corev1.Pod, len(c.Queue))
	for i, q := range c.Queue {
		queue[i] = q.Pod
	}
	err := errors.Join(addAll(b.AddNode, c.Nodes), addAll(b.AddPod, c.Pods), addAll(b.AddPod, queue), addAll(b.AddPriorityClass, c.PriorityClasses))
	if err != nil {
		return nil, err
	}
	w := &advised{Case: c}
	if w.snapshot, err = b.Build(); err != nil {
		return nil, err
	}
	if len(queue) == 0 || len(w.snapshot.Queue) != len(queue) || slices.ContainsFunc(c.Queue, func(q scenario.Pending) bool { return q.Count != 1 }) {
		return w, nil // some wait
	}
	w.workload = w.snapshot.Queue[0].Workload
	for i, e := range w.snapshot.Queue {
		if e.Workload == w.workload && w.snapshot.SpecOf(e) == w.snapshot.SpecOf(w.snapshot.Queue[0]) {
			w.entries, w.pods = append(w.entries, e), append(w.pods, queue[i])
		}
	}
	for p := range w.snapshot.OnNodes() {
		if p.Workload == w.workload {
			w.siblings = append(w.siblings, p.Pod)
		}
	}
	return w, nil
}

// question is the question of stowage explain before it looks for advice; nil if the pods have nodes.
func (w *advised) question(ctx context.Context, stowage conformance.Service) (*advice.Question, error) {
	simulation, ok := stowage.(conformance.Simulation)
	if !ok {
		return nil, errors.New("the service answers no WhatIf")
	}
	about := w.snapshot.PlaceRequest().Context
	filter, err := stowage.Filter(ctx, &stowagev1.FilterRequest{
		Context: about, Pod: w.entries[0].Pods.GetPod(), IncludeChanges: true, IncludePreemption: true,
	})
	if err != nil {
		return nil, err
	}
	w.offered, w.preempts = filter.GetChanges(), filter.GetPreemption().GetNominated() != nil
	mode := stowagev1.QueueMode_QUEUE_MODE_IN_ORDER
	if w.Whole {
		mode = stowagev1.QueueMode_QUEUE_MODE_KUBE_SCHEDULER
	}
	feasible := len(filter.GetFeasibleNodes().GetIndexes()) > 0
	if !feasible {
		if later, err := w.place(ctx, stowage, stowagev1.QueueMode_QUEUE_MODE_KUBE_SCHEDULER, false); err != nil || later.unplaced == 0 && !later.evicts {
			return nil, err
		}
	}
	if feasible {
		after, err := w.place(ctx, stowage, mode, true)
		if err != nil || after.unplaced == 0 || after.first == nil {
			return nil, err
		}
		w.placed, w.offered = len(w.pods)-after.unplaced, after.first.GetChanges()
		w.preempts = w.preempts || after.first.GetPreemption().GetNominated() != nil
	}
	return &advice.Question{
		Snapshot: w.snapshot, Pods: w.entries, Placed: uint32(w.placed), Offered: w.offered, Preemption: !w.preempts,
		Mode: mode, Returning: stowagev1.QueueMode_QUEUE_MODE_KUBE_SCHEDULER,
		WhatIf: func(ctx context.Context, request *stowagev1.WhatIfRequest) ([]*stowagev1.WhatIfResponse, error) {
			return simulation.WhatIf(ctx, request)
		},
	}, nil
}

// fate is the result of placing the workload's pods.
type fate struct {
	unplaced int
	first    *stowagev1.Placement // of the first unplaced one
	evicts   bool
}

func (w *advised) place(ctx context.Context, stowage conformance.Service, mode stowagev1.QueueMode, preemption bool) (*fate, error) {
	request := w.snapshot.PlaceRequest()
	request.QueueMode, request.IncludePreemption = mode, preemption
	request.Explain, request.IncludeChanges = preemption, preemption
	answer, err := stowage.Place(ctx, request)
	if err != nil {
		return nil, err
	}
	out := &fate{evicts: len(answer.GetEvictions()) > 0}
	for i, p := range answer.GetPlacements() {
		if slices.ContainsFunc(w.entries, func(e kube.Entry) bool { return e.Pods == w.snapshot.Queue[i].Pods }) {
			out.unplaced += int(p.GetUnplacedCount() + p.GetEvictedCount())
			if out.first == nil && p.GetUnplacedCount() > 0 {
				out.first = p
			}
		}
	}
	return out, nil
}

// owned reports whether the pods of the workload have one controller, so that no rollout is under way.
func (w *advised) owned() bool {
	own := metav1.GetControllerOfNoCopy(w.pods[0])
	return own != nil && !slices.ContainsFunc(w.siblings, func(p *corev1.Pod) bool {
		of := metav1.GetControllerOfNoCopy(p)
		return of == nil || of.Name != own.Name
	})
}

// world is a state of the cluster with a queue, which kube-scheduler places.
type world struct {
	nodes []*corev1.Node
	pods  []*corev1.Pod
	queue []*corev1.Pod
	whole bool
}

// outcome is how kube-scheduler places a world.
type outcome struct {
	refused bool // by the API server
	placed  map[string]bool
	victims []*corev1.Pod
}

func (o *outcome) all(pods []*corev1.Pod) bool {
	return !o.refused && !slices.ContainsFunc(pods, func(p *corev1.Pod) bool { return !o.placed[p.Name] })
}

func (x *world) play() (*outcome, error) {
	c := (&scenario.Case{Nodes: x.nodes, Pods: x.pods, Whole: x.whole}).Copy()
	for _, p := range x.queue {
		c.Queue = append(c.Queue, scenario.Pending{Pod: p, Count: 1})
	}
	out := &outcome{placed: map[string]bool{}}
	var err error
	if x.whole {
		err = out.byQueue(c)
	} else {
		err = out.inOrder(c)
	}
	if errors.As(err, new(*oracle.InvalidError)) {
		return &outcome{refused: true}, nil
	}
	return out, err
}

func (o *outcome) byQueue(c *scenario.Case) error {
	q, err := oracle.NewQueue(c, bestOf(c))
	if err != nil {
		return err
	}
	defer q.Close()
	r, err := q.Run()
	if err != nil {
		return err
	}
	for _, p := range r.Pods {
		o.placed[c.Queue[p.Entry].Pod.Name] = p.Placed > 0 && !p.Evicted
	}
	for _, e := range r.Evictions {
		for _, v := range e.Victims {
			o.victims = append(o.victims, v.Pod)
		}
	}
	return nil
}

func (o *outcome) inOrder(c *scenario.Case) error {
	s, err := oracle.New(c)
	if err != nil {
		return err
	}
	defer s.Close()
	for i, q := range c.Queue {
		p, err := s.PlaceEntry(i, 1, bestOf(c))
		if err != nil {
			return err
		}
		o.placed[q.Pod.Name] = p.Unplaced == nil
	}
	return nil
}

// world is the case as it is, with other pods in the place of the workload's and without some pods on nodes.
func (w *advised) world(pods []*corev1.Pod, whole bool, without ...*corev1.Pod) *world {
	x := &world{nodes: w.Nodes, whole: whole}
	for _, p := range w.Pods {
		if !slices.ContainsFunc(without, func(o *corev1.Pod) bool { return o.Name == p.Name }) {
			x.pods = append(x.pods, p)
		}
	}
	added := false
	for _, q := range w.Queue {
		switch {
		case !slices.Contains(w.pods, q.Pod):
			x.queue = append(x.queue, q.Pod)
		case !added:
			x.queue, added = append(x.queue, pods...), true
		}
	}
	return x
}

// replicas are pods of the workload, changed.
func (w *advised) replicas(n int, change func(*corev1.Pod)) []*corev1.Pod {
	var out []*corev1.Pod
	for i := range n {
		p := w.pods[0].DeepCopy()
		p.Name = fmt.Sprint("replica-", i)
		change(p)
		out = append(out, p)
	}
	return out
}
