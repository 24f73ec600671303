package oracle

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/klog/v2"
	extenderv1 "k8s.io/kube-scheduler/extender/v1"
	fwk "k8s.io/kube-scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler"
	"k8s.io/kubernetes/pkg/scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins/defaultpreemption"
	"k8s.io/kubernetes/pkg/scheduler/framework/preemption"
)

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

func (c candidateOf) Name() string { return c.name }

func (c candidateOf) Victims() *extenderv1.Victims { return c.victims }

func (c candidateOf) NumPodGroupDisruptions() int { return 0 }

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
