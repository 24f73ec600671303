package explain

import (
	"context"
	"slices"

	"github.com/stowage-scheduler/stowage/clients/answer"
	"github.com/stowage-scheduler/stowage/clients/answer/target"
	"github.com/stowage-scheduler/stowage/clients/answer/words"
	"github.com/stowage-scheduler/stowage/clients/kube"
	stowagev1 "github.com/stowage-scheduler/stowage/proto/stowage/v1"
)

// maximumTogether bounds the pods of several workloads that are placed jointly.
const maximumTogether = 100

// forAll decides what changes that would place one of a workload's pods do for all of them.
func (a *asker) forAll(ctx context.Context, p *Pod) (err error) {
	placed, changes := uint32(0), p.Response.GetChanges()
	switch after := p.After; {
	case after.Later() != "":
		return nil
	case after != nil && after.First != nil:
		placed, changes = after.Pods-after.Unplaced, after.First.GetChanges()
	case len(p.Response.GetFeasibleNodes().GetIndexes()) > 0:
		return nil
	}
	if len(p.Pending) < len(a.Snapshot.Queue) { // pods of others are pending
		p.Words.Whole, err = a.wholeQueue(ctx)
	} else if p.Count() > 1 && p.Pending[0].Pods.GetPodGroup() == "" {
		p.Words.Whole, err = a.whole(ctx, p.Pending, uint32(p.Count()), placed, changes)
	}
	return err
}

// whole decides what changes do for all pods of a workload. Of its pods, placed have a node without a change.
func (a *asker) whole(
	ctx context.Context, of []kube.Entry, pods, placed uint32, changes []*stowagev1.Change,
) (*words.Whole, error) {
	out := &words.Whole{Pods: pods}
	fit := &stowagev1.FitRequest{
		Context: a.Context(a.Snapshot.Cluster), Mix: []*stowagev1.FitPod{{Pod: of[0].Pods.Pod}}, MaxUnits: &pods, IncludeChanges: true,
	}
	response, err := a.Client.Fit(ctx, fit)
	if err != nil {
		return nil, answer.Refused(fit, err)
	}
	if response.Units == placed { // else the order of the queue, or a preemption, has placed others
		out.With = response.Changes
	}
	for _, c := range changes {
		like := c.GetAddedNode()
		if like == nil || len(like.NewDomainKeys) > 0 {
			continue
		}
		request, err := a.nodesLike(of, like.LikeNodeIndex)
		if err != nil {
			return nil, err
		}
		provided, err := a.Client.Provision(ctx, request)
		if err != nil {
			return nil, answer.Refused(request, err)
		}
		if provided.GetPlace().GetUnplacedCount() == 0 {
			out.Nodes, out.NodesLike = uint32(len(provided.NodeNames)), like.LikeNodeIndex
		}
	}
	if placed > 0 {
		out.Joint, err = a.fitTogether(ctx, of)
	}
	return out, err
}

// wholeQueue decides whether the pending pods of several workloads have nodes together; nil if they have not, or belong to groups.
func (a *asker) wholeQueue(ctx context.Context) (*words.Whole, error) {
	pods := target.Count(a.Snapshot.Queue)
	grouped := func(e kube.Entry) bool { return e.Pods.GetPodGroup() != "" }
	if pods > maximumTogether || slices.ContainsFunc(a.Snapshot.Queue, grouped) {
		return nil, nil
	}
	if together, err := a.fitTogether(ctx, a.Snapshot.Queue); err != nil || !together {
		return nil, err
	}
	return &words.Whole{Pods: uint32(pods), Joint: true, Queue: true}, nil
}

// nodesLike returns the request for nodes like one of the cluster, as a change adds one.
func (a *asker) nodesLike(of []kube.Entry, index uint32) (*stowagev1.ProvisionRequest, error) {
	template, err := a.Snapshot.TemplateLike(index)
	if err != nil {
		return nil, err
	}
	request := &stowagev1.ProvisionRequest{Context: a.Context(a.Snapshot.Cluster), Templates: []*stowagev1.NodeTemplate{template}}
	for _, e := range of {
		request.Queue = append(request.Queue, e.Pods)
	}
	return request, nil
}

// fitTogether reports whether a joint placement gives pods that are in no group nodes.
func (a *asker) fitTogether(ctx context.Context, of []kube.Entry) (bool, error) {
	const group = kube.RestGroup
	request := &stowagev1.PlaceRequest{
		Context: a.Context(a.Snapshot.Cluster), QueueMode: stowagev1.QueueMode_QUEUE_MODE_IN_ORDER,
		PodGroups: []*stowagev1.PodGroup{{Name: group, Mode: stowagev1.PodGroupMode_POD_GROUP_MODE_JOINT}},
	}
	for _, e := range of {
		request.Queue = append(request.Queue, &stowagev1.PendingPods{Pod: e.Pods.Pod, Count: e.Pods.Count, PodGroup: group})
	}
	response, err := a.Client.Place(ctx, request)
	return err == nil && response.UnplacedCount == 0, answer.Refused(request, err)
}
