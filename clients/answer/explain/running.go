package explain

import (
	"context"

	"github.com/stowage-scheduler/stowage/clients/answer"
	"github.com/stowage-scheduler/stowage/clients/kube/compact"
	"github.com/stowage-scheduler/stowage/clients/kube/object"
	stowagev1 "github.com/stowage-scheduler/stowage/proto/stowage/v1"
)

const ofKubelet = "it could not move: the kubelet of its node made it, and kube-scheduler does not decide about it"

// running explains whether a pod on a node could move: it is taken off its node, and filtered.
func (a *asker) running(ctx context.Context, p *Pod) error {
	if object.MadeByKubelet(p.On.Pod) {
		p.Response = &stowagev1.FilterResponse{Message: ofKubelet}
		return nil
	}
	pod, err := a.Snapshot.Again(p.On)
	if err != nil {
		return err
	}
	cluster := a.Snapshot.Without(p.On)
	request := &stowagev1.FilterRequest{Context: a.Context(cluster), Pod: pod, Explain: true}
	if p.Response, err = a.Client.Filter(ctx, request); err != nil {
		// Of a cluster without the pod, an error would name the pods behind it by other positions.
		whole := &stowagev1.FilterRequest{Context: a.Context(a.Snapshot.Cluster), Pod: pod}
		if _, again := a.Client.Filter(ctx, whole); again != nil {
			return answer.Refused(whole, again)
		}
		return answer.Refused(request, err)
	}
	p.Words.Cluster, p.Words.Claims = cluster, compact.Claims(cluster, pod)
	a.Doubt(&p.Judgement, p.On.Object.String(), p.Response)
	others := &stowagev1.CandidateNodes{}
	for _, n := range a.Snapshot.Cluster.Nodes {
		if n.GetName() != p.Node() {
			others.Names = append(others.Names, n.GetName())
		}
	}
	if !p.Feasible() && len(others.Names) > 0 {
		request := &stowagev1.FilterRequest{Context: a.Context(cluster), Pod: pod, CandidateNodes: others, IncludeChanges: true}
		changes, err := a.Client.Filter(ctx, request)
		if err != nil {
			return answer.Refused(request, err)
		}
		p.Response.Changes = changes.GetChanges()
	}
	a.NoteOthers(a.Snapshot.Queue)
	return nil
}
