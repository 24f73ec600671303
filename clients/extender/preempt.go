package extender

import (
	"context"
	"errors"
	"sync"

	"golang.org/x/sync/errgroup"
	"k8s.io/apimachinery/pkg/types"
	extenderv1 "k8s.io/kube-scheduler/extender/v1"

	"github.com/stowage-scheduler/stowage/clients/live"
	stowagev1 "github.com/stowage-scheduler/stowage/proto/stowage/v1"
)

// preemptionsAtATime is the number of nodes that are evaluated concurrently. kube-scheduler sends a tenth of the nodes, or
// 100.
const preemptionsAtATime = 8

// Preempt keeps the nodes that are feasible without their victims.
func (e *Extender) Preempt(ctx context.Context, args *extenderv1.ExtenderPreemptionArgs) (*extenderv1.ExtenderPreemptionResult, error) {
	switch {
	case args.Pod == nil:
		return nil, errNoPod
	case len(args.NodeNameToVictims) > 0:
		return nil, errWithNodes
	}
	pod, err := e.pending(args.Pod)
	if err != nil {
		return nil, err
	}
	out := &extenderv1.ExtenderPreemptionResult{NodeNameToMetaVictims: map[string]*extenderv1.MetaVictims{}}
	var mutex sync.Mutex
	group, asking := errgroup.WithContext(ctx)
	group.SetLimit(preemptionsAtATime)
	for node, victims := range args.NodeNameToMetaVictims {
		if victims == nil || len(victims.Pods) == 0 {
			continue // kube-scheduler treats a node without victims as an error
		}
		group.Go(func() error {
			ok, err := e.fitsWithout(asking, pod, args.Pod.UID, node, victims)
			if ok {
				mutex.Lock()
				defer mutex.Unlock()
				out.NodeNameToMetaVictims[node] = victims
			}
			return err
		})
	}
	if err := group.Wait(); err != nil {
		return nil, explained(err)
	}
	return out, nil
}

// fitsWithout reports whether a node would be feasible for a pod if some pods were gone, and the last decision about the
// pod itself.
func (e *Extender) fitsWithout(ctx context.Context, pod *stowagev1.Pod, own types.UID, node string, victims *extenderv1.MetaVictims) (bool, error) {
	gone := []types.UID{own}
	for _, v := range victims.Pods {
		if v == nil {
			return false, errors.New("a victim is null")
		}
		gone = append(gone, types.UID(v.UID))
	}
	fits := false
	err := e.cluster.AskWithout(ctx, gone, func(ctx context.Context, v *live.View) error {
		i, known := v.NodeIndex(node)
		if fits = false; !known || v.Refused(node) != "" {
			return nil
		}
		answer, err := e.client.Filter(ctx, &stowagev1.FilterRequest{
			Context: &stowagev1.DecisionContext{
				Base: &stowagev1.DecisionContext_Snapshot{Snapshot: v.Reference()}, Profile: e.options.Profile,
			}, Pod: pod,
			CandidateNodes: &stowagev1.CandidateNodes{Indexes: []uint32{i}},
		})
		fits = len(answer.GetFeasibleNodes().GetIndexes()) > 0
		return err
	})
	return fits && err == nil, err
}
