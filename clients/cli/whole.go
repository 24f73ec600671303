package cli

import (
	"slices"

	"google.golang.org/protobuf/proto"

	"github.com/stowage-scheduler/stowage/clients/answer/words"
	"github.com/stowage-scheduler/stowage/clients/kube"

	stowagev1 "github.com/stowage-scheduler/stowage/proto/stowage/v1"
)

// forAll is whole for the changes that an answer about one of the pods has, or what becomes of them after the others.
func (q *question) forAll(a *asked, of []kube.Entry, answer *stowagev1.FilterResponse, after *words.After) (*words.Whole, proto.Message, error) {
	switch {
	case after.Later() != "":
	case after != nil && after.First != nil:
		return q.whole(a, of, after.Pods-after.Unplaced, after.First.GetChanges())
	case len(answer.GetFeasibleNodes().GetIndexes()) == 0:
		return q.whole(a, of, 0, answer.GetChanges())
	}
	return nil, nil, nil
}

// whole says what changes that would place one of a workload's pods do for all of them; nil if it has a single one, or if pods of
// others are pending. Of its pods, placed have a node without a change. request is that of an error.
func (q *question) whole(a *asked, of []kube.Entry, placed uint32, changes []*stowagev1.Change) (*words.Whole, proto.Message, error) {
	pods := uint32(podCount(of))
	if len(of) < len(a.snapshot.Queue) {
		return q.wholeQueue(a)
	}
	if pods < 2 || of[0].Pods.GetPodGroup() != "" {
		return nil, nil, nil
	}
	out := &words.Whole{Pods: pods}
	fit := &stowagev1.FitRequest{
		Context: a.about(a.snapshot.Cluster), Mix: []*stowagev1.FitPod{{Pod: of[0].Pods.Pod}}, MaxUnits: &pods, IncludeChanges: true,
	}
	answer, err := a.Fit(a.ctx, fit)
	if err != nil {
		return nil, fit, err
	}
	if answer.Units == placed { // otherwise the order of the queue, or a preemption, has placed others
		out.With = answer.Changes
	}
	for _, c := range changes {
		like := c.GetAddedNode()
		if like == nil || len(like.NewDomainKeys) > 0 {
			continue
		}
		request, err := a.nodesLike(of, like.LikeNodeIndex)
		if err != nil {
			return nil, nil, err
		}
		provided, err := a.Provision(a.ctx, request)
		if err != nil {
			return nil, request, err
		}
		if provided.GetPlace().GetUnplacedCount() == 0 {
			out.Nodes, out.NodesLike = uint32(len(provided.NodeNames)), like.LikeNodeIndex
		}
	}
	if placed > 0 {
		request := a.together(of)
		jointly, err := a.Place(a.ctx, request)
		if err != nil {
			return nil, request, err
		}
		out.Joint = jointly.UnplacedCount == 0
	}
	return out, nil, nil
}

// maximumTogether bounds the pods of several workloads that are placed jointly.
const maximumTogether = 100

// wholeQueue says if the pending pods of several workloads have nodes together; nil if they do not, or belong to groups.
func (q *question) wholeQueue(a *asked) (*words.Whole, proto.Message, error) {
	pods := podCount(a.snapshot.Queue)
	grouped := func(e kube.Entry) bool { return e.Pods.GetPodGroup() != "" }
	if pods > maximumTogether || slices.ContainsFunc(a.snapshot.Queue, grouped) {
		return nil, nil, nil
	}
	request := a.together(a.snapshot.Queue)
	jointly, err := a.Place(a.ctx, request)
	if err != nil || jointly.UnplacedCount > 0 {
		return nil, request, err
	}
	return &words.Whole{Pods: uint32(pods), Joint: true, Queue: true}, nil, nil
}

// nodesLike asks for nodes like one of the cluster, as a change adds one.
func (a *asked) nodesLike(of []kube.Entry, index uint32) (*stowagev1.ProvisionRequest, error) {
	template, err := a.snapshot.TemplateLike(index)
	if err != nil {
		return nil, err
	}
	request := &stowagev1.ProvisionRequest{Context: a.about(a.snapshot.Cluster), Templates: []*stowagev1.NodeTemplate{template}}
	for _, e := range of {
		request.Queue = append(request.Queue, e.Pods)
	}
	return request, nil
}

// together asks for a joint placement of pods that are in no group.
func (a *asked) together(of []kube.Entry) *stowagev1.PlaceRequest {
	const group = kube.RestGroup
	request := &stowagev1.PlaceRequest{
		Context: a.about(a.snapshot.Cluster), QueueMode: stowagev1.QueueMode_QUEUE_MODE_IN_ORDER,
		PodGroups: []*stowagev1.PodGroup{{Name: group, Mode: stowagev1.PodGroupMode_POD_GROUP_MODE_JOINT}},
	}
	for _, e := range of {
		request.Queue = append(request.Queue, &stowagev1.PendingPods{Pod: e.Pods.Pod, Count: e.Pods.Count, PodGroup: group})
	}
	return request
}
