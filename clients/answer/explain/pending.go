package explain

import (
	"context"

	corev1 "k8s.io/api/core/v1"

	"github.com/stowage-scheduler/stowage/clients/advice"
	"github.com/stowage-scheduler/stowage/clients/answer"
	"github.com/stowage-scheduler/stowage/clients/answer/target"
	"github.com/stowage-scheduler/stowage/clients/answer/words"
	"github.com/stowage-scheduler/stowage/clients/kube"
	"github.com/stowage-scheduler/stowage/clients/kube/compact"
	"github.com/stowage-scheduler/stowage/clients/rollout"
	"github.com/stowage-scheduler/stowage/clients/simulate"
	stowagev1 "github.com/stowage-scheduler/stowage/proto/stowage/v1"
)

// asker explains the pods of a question. What it learns of the queue serves all of them.
type asker struct {
	*answer.Question
	placed    *stowagev1.PlaceResponse // the queue as it is placed; nil if that is not known
	retried   *stowagev1.PlaceResponse // the queue with retries and without evictions
	explained bool                     // whether placed explains the pods without a node
}

// reset forgets what a refused object has changed.
func (a *asker) reset() { a.placed, a.retried, a.explained = nil, nil, false }

// explain answers about one pod.
func (a *asker) explain(ctx context.Context, of *target.Chosen) (*Pod, error) {
	p := &Pod{Chosen: of, Words: &words.Explanation{Cluster: a.Snapshot.Cluster, NoPreemption: a.NoPreemption()}}
	explain := a.pending
	if len(of.Pending) == 0 {
		explain = a.running
	}
	if err := explain(ctx, p); err != nil {
		return nil, err
	}
	a.Judge(&p.Judgement, p.Good())
	return p, nil
}

// pending explains a pending pod.
func (a *asker) pending(ctx context.Context, p *Pod) error {
	entry := p.Pending[0]
	pod := entry.Pods.GetPod()
	if entry.Message != "" { // kube-scheduler does not queue it
		p.Response = &stowagev1.FilterResponse{Message: entry.Message, Doubts: kube.UnreadDoubts(pod.GetUnread(), 0)}
		a.Doubt(&p.Judgement, entry.Origin.String(), p.Response)
		return nil
	}
	request := &stowagev1.FilterRequest{
		Context: a.Context(a.Snapshot.Cluster), Pod: pod, Explain: true, IncludeChanges: true, IncludePreemption: true,
	}
	p.Words.Claims = compact.Claims(a.Snapshot.Cluster, pod)
	var err error
	if p.Response, err = a.Client.Filter(ctx, request); err != nil {
		return answer.Refused(request, err)
	}
	a.Doubt(&p.Judgement, entry.Origin.String(), p.Response)
	if p.After, err = a.after(ctx, p.Pending, p.Feasible()); err != nil {
		return err
	}
	for _, find := range []func(context.Context, *Pod) error{a.devices, a.advise, a.continueRollout, a.forAll, a.replacements} {
		if err := find(ctx, p); err != nil {
			return err
		}
	}
	return nil
}

// devices finds the devices of a pod that has a node, in a cluster with devices.
func (a *asker) devices(ctx context.Context, p *Pod) error {
	if !p.Feasible() || len(a.Snapshot.Cluster.GetResourceSlices()) == 0 {
		return nil
	}
	request := &stowagev1.PlaceRequest{
		Context: a.Context(a.Snapshot.Cluster), Queue: []*stowagev1.PendingPods{{Pod: p.Pending[0].Pods.GetPod()}},
		TieBreak: a.TieBreak, TieBreakSeed: a.Seed,
	}
	response, err := a.Client.Place(ctx, request)
	if err != nil {
		return answer.Refused(request, err)
	}
	p.Devices = response.GetClaimDevices()
	return nil
}

// Given lists the devices that the claims of a pending pod get.
func (p *Pod) Given() []string {
	var out []string
	for _, c := range p.Devices {
		node := p.Words.Cluster.GetNodes()[c.GetNodeIndex()].GetName()
		out = append(out, "on "+node+", claim "+words.ClaimOf(c)+" gets "+words.Devices(c.GetDevices()))
	}
	return out
}

// advise finds changes of a workload that give its pods a node which have none, alone or after the other pending pods.
func (a *asker) advise(ctx context.Context, p *Pod) (err error) {
	question := &advice.Question{
		Mode: stowagev1.QueueMode_QUEUE_MODE_IN_ORDER, Returning: stowagev1.QueueMode_QUEUE_MODE_IN_ORDER,
		Snapshot: a.Snapshot, Profile: a.Profile(), Pods: p.Pending, Offered: p.Response.GetChanges(),
		Explanation: p.Response.GetExplanation(),
		Preemption:  !a.NoPreemption() && p.Response.GetPreemption().GetNominated() == nil,
		WhatIf: func(ctx context.Context, request *stowagev1.WhatIfRequest) ([]*stowagev1.WhatIfResponse, error) {
			var out []*stowagev1.WhatIfResponse
			err := a.WhatIf(ctx, request, func(one *stowagev1.WhatIfResponse) { out = append(out, one) })
			return out, err
		},
	}
	switch after := p.After; {
	case after.Later() != "" || after.String() == "" && len(p.Response.GetFeasibleNodes().GetIndexes()) > 0:
		return nil
	case after.String() != "" && after.First == nil:
		return nil
	case after.String() != "":
		question.Placed, question.Offered = after.Pods-after.Unplaced, after.First.GetChanges()
		question.Explanation = after.First.GetExplanation()
		question.Preemption = question.Preemption && after.First.GetPreemption().GetNominated() == nil
	}
	if answer.InOrderOnly(a.Snapshot) == "" {
		question.Returning = stowagev1.QueueMode_QUEUE_MODE_KUBE_SCHEDULER
		if a.Snapshot.Live {
			question.Mode = question.Returning
		}
	}
	if p.Advice, err = question.Find(ctx); err != nil {
		return err
	}
	for i := range p.Advice {
		p.Words.Advice = append(p.Words.Advice, p.Advice[i].Text)
	}
	return nil
}

// continueRollout decides the progress of the rollout whose pod has no node.
func (a *asker) continueRollout(ctx context.Context, p *Pod) error {
	e := p.Pending[0]
	if p.After.Later() != "" || len(p.Response.GetFeasibleNodes().GetIndexes()) > 0 && p.After.String() == "" {
		return nil
	}
	of := a.Snapshot.Progress(&e)
	if of == nil {
		return nil
	}
	s, err := simulate.New(ctx, a.Client, a.Snapshot, simulate.Options{Profile: a.Profile()})
	if err != nil {
		return err
	}
	var waiting []*corev1.Pod
	for i := range a.Snapshot.Queue {
		if other := &a.Snapshot.Queue[i]; other.SameOwner(&e) {
			waiting = append(waiting, other.Object())
		}
	}
	p.Words.Rollout, err = rollout.Continue(ctx, s, of, waiting, !a.NoPreemption())
	return err
}

// replacements decides the fate of the pods that changes take off their nodes, once the pod has its node and their controllers have
// created them again. Of changes after other pending pods nothing is known.
func (a *asker) replacements(ctx context.Context, p *Pod) error {
	if p.After != nil {
		return nil
	}
	request := &stowagev1.WhatIfRequest{Context: a.Context(a.Snapshot.Cluster)}
	var of []*stowagev1.Change
	for _, c := range p.Response.GetChanges() {
		if scenario := a.evicting(c.GetVictims().GetPods()); scenario != nil {
			scenario.Queue = []*stowagev1.PendingPods{{Pod: p.Pending[0].Pods.GetPod()}}
			of, request.Scenarios = append(of, c), append(request.Scenarios, scenario)
		}
	}
	if len(of) == 0 {
		return nil
	}
	p.Words.Returning = map[*stowagev1.Change]*words.Returning{}
	return a.WhatIf(ctx, request, func(response *stowagev1.WhatIfResponse) {
		p.Words.Returning[of[response.GetScenarioIndex()]] = returning(response)
	})
}

// returning is the fate of the pods that a scenario evicts.
func returning(response *stowagev1.WhatIfResponse) *words.Returning {
	out := &words.Returning{}
	all := response.GetPlacement().GetPlacements()
	for i, r := range response.GetRequeued() {
		switch p := all[len(all)-len(response.GetRequeued())+i]; {
		case r.GetUnknown():
		case len(p.GetNodes().GetNames()) > 0:
			out.Nodes = append(out.Nodes, p.GetNodes().GetNames()...)
		default:
			out.Unplaced++
		}
	}
	return out
}

// evicting is a scenario in which pods leave their nodes and their controllers create them again; nil if the pods have no names, or
// there are none.
func (a *asker) evicting(pods []*stowagev1.PodReference) *stowagev1.Scenario {
	if len(pods) == 0 {
		return nil
	}
	out := &stowagev1.Scenario{RequeueEvicted: true}
	for _, p := range pods {
		if p.GetName() == "" {
			return nil
		}
		node := a.Snapshot.Cluster.Nodes[p.GetNodeIndex()].GetName()
		if n := len(out.Evictions); n == 0 || out.Evictions[n-1].NodeName != node {
			out.Evictions = append(out.Evictions, &stowagev1.NodeEvictions{NodeName: node})
		}
		last := out.Evictions[len(out.Evictions)-1]
		last.Pods = append(last.Pods, &stowagev1.NamespacedName{Namespace: p.GetNamespace(), Name: p.GetName()})
	}
	return out
}
