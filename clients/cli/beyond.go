package cli

import (
	"google.golang.org/protobuf/proto"

	"github.com/stowage-scheduler/stowage/clients/advice"
	"github.com/stowage-scheduler/stowage/clients/answer/words"
	"github.com/stowage-scheduler/stowage/clients/kube"
	"github.com/stowage-scheduler/stowage/clients/render/text"

	stowagev1 "github.com/stowage-scheduler/stowage/proto/stowage/v1"
)

// beyond adds to an explanation of the first of some pods what goes beyond the answer: how their rollout goes on, what changes do for
// all of them, what becomes of pods that make room, and what changes of their workload do, which it returns, too. request is that of an error.
func (q *question) beyond(a *asked, of []kube.Entry, answer *stowagev1.FilterResponse, x *text.Explain) (all []advice.Advice, request proto.Message, err error) {
	if all, err = q.advice(a, of, answer, x.After); err != nil {
		return nil, nil, err
	}
	x.Advice = textsOf(all)
	if x.Rollout, err = q.underWay(a, of[0], answer, x.After); err != nil {
		return nil, nil, err
	}
	if x.Whole, request, err = q.forAll(a, of, answer, x.After); err != nil {
		return nil, request, err
	}
	if x.After != nil { // whose changes are of pods of the queue, too
		return all, nil, nil
	}
	request, err = q.returning(a, of[0], answer.GetChanges(), x)
	return all, request, err
}

// returning decides what becomes of the pods that changes take off their nodes.
func (q *question) returning(a *asked, e kube.Entry, changes []*stowagev1.Change, x *text.Explain) (proto.Message, error) {
	request := &stowagev1.WhatIfRequest{Context: a.about(a.snapshot.Cluster)}
	var of []*stowagev1.Change
	for _, c := range changes {
		if scenario := a.without(c.GetVictims().GetPods()); scenario != nil {
			scenario.Queue = []*stowagev1.PendingPods{{Pod: e.Pods.GetPod()}}
			of, request.Scenarios = append(of, c), append(request.Scenarios, scenario)
		}
	}
	if len(of) == 0 {
		return nil, nil
	}
	x.Returning = map[*stowagev1.Change]*words.Returning{}
	err := whatIf(a.ctx, a, request, func(answer *stowagev1.WhatIfResponse) {
		out := &words.Returning{}
		all := answer.GetPlacement().GetPlacements()
		for i, r := range answer.GetRequeued() {
			switch p := all[len(all)-len(answer.GetRequeued())+i]; {
			case r.GetUnknown():
			case len(p.GetNodes().GetNames()) > 0:
				out.Nodes = append(out.Nodes, p.GetNodes().GetNames()...)
			default:
				out.Unplaced++
			}
		}
		x.Returning[of[answer.GetScenarioIndex()]] = out
	})
	return request, err
}

// without is a scenario in which pods leave their nodes and their controllers create them again; nil if they have no names, or there
// are none.
func (a *asked) without(pods []*stowagev1.PodReference) *stowagev1.Scenario {
	if len(pods) == 0 {
		return nil
	}
	out := &stowagev1.Scenario{RequeueEvicted: true}
	for _, p := range pods {
		if p.GetName() == "" {
			return nil
		}
		node := a.snapshot.Cluster.Nodes[p.GetNodeIndex()].GetName()
		if n := len(out.Evictions); n == 0 || out.Evictions[n-1].NodeName != node {
			out.Evictions = append(out.Evictions, &stowagev1.NodeEvictions{NodeName: node})
		}
		last := out.Evictions[len(out.Evictions)-1]
		last.Pods = append(last.Pods, &stowagev1.NamespacedName{Namespace: p.GetNamespace(), Name: p.GetName()})
	}
	return out
}
