package extender

import (
	"context"
	"errors"
	"slices"
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

// Preempt keeps the nodes that are feasible without their victims. With Options.OwnVictims it returns the victims of Stowage's own
// preemption there.
//
// kube-scheduler accepts a subset of the nodes that it sent, and other victims on them
// (k8s.io/kube-scheduler/framework/extender.go ProcessPreemption, v0.37). It then chooses a node by its own criteria.
func (e *Extender) Preempt(ctx context.Context, args *extenderv1.ExtenderPreemptionArgs) (*extenderv1.ExtenderPreemptionResult, error) {
	switch {
	case args.Pod == nil:
		return nil, errNoPod
	case len(args.NodeNameToVictims) > 0:
		return nil, errWithNodes
	}
	pod, whole, err := e.whole(args.Pod)
	if err != nil {
		return nil, err
	}
	if e.options.OwnVictims && whole {
		if out, found, err := e.ownVictims(ctx, pod, args.Pod.UID, args.NodeNameToMetaVictims); found || err != nil {
			return out, err
		}
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

// fitsWithout reports whether a node would be feasible for a pod without some pods, and without the last decision about the pod
// itself.
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
				Base: &stowagev1.DecisionContext_Snapshot{Snapshot: v.Reference()}, Profile: e.profile(pod),
			}, Pod: pod,
			CandidateNodes: &stowagev1.CandidateNodes{Indexes: []uint32{i}},
		})
		fits = len(answer.GetFeasibleNodes().GetIndexes()) > 0
		return err
	})
	return fits && err == nil, err
}

// ownVictims returns the victims of Stowage's own preemption on some nodes, for a pod that Stowage reads completely: the victims
// that kube-scheduler would select with the rules of both. It returns none if Stowage accepts the pod on one of the nodes without
// preemption: kube-scheduler then counts something unknown there, and its own victims hold. The last decision about the pod itself
// does not count.
func (e *Extender) ownVictims(
	ctx context.Context, pod *stowagev1.Pod, own types.UID, nodes map[string]*extenderv1.MetaVictims,
) (out *extenderv1.ExtenderPreemptionResult, found bool, err error) {
	err = e.cluster.AskWithout(ctx, []types.UID{own}, func(ctx context.Context, v *live.View) error {
		out, found = &extenderv1.ExtenderPreemptionResult{NodeNameToMetaVictims: map[string]*extenderv1.MetaVictims{}}, true
		var candidates []uint32
		for node, victims := range nodes {
			if i, known := v.NodeIndex(node); known && v.Refused(node) == "" && victims != nil && len(victims.Pods) > 0 {
				candidates = append(candidates, i)
			}
		}
		if len(candidates) == 0 {
			return nil
		}
		slices.Sort(candidates)
		answer, err := e.client.Preempt(ctx, &stowagev1.PreemptRequest{
			Context: &stowagev1.DecisionContext{
				Base: &stowagev1.DecisionContext_Snapshot{Snapshot: v.Reference()}, Profile: e.profile(pod),
			}, Pod: pod,
			CandidateNodes: &stowagev1.CandidateNodes{Indexes: candidates}, IncludeCandidates: true,
		})
		if err != nil {
			return err
		}
		found = len(answer.GetFeasibleNodes().GetIndexes()) == 0 && !answer.GetPreemption().GetCandidatesTruncated()
		for _, c := range answer.GetPreemption().GetCandidates() {
			node := v.NodeName(c.GetNodeIndex())
			if victims := e.metaVictims(node, c, nodes[node]); victims != nil {
				out.NodeNameToMetaVictims[node] = victims
			}
		}
		return nil
	})
	if err != nil {
		return nil, false, explained(err)
	}
	return out, found, nil
}

// metaVictims names the victims of a candidate by their UIDs. It returns nil if kube-scheduler might not know one of them on the
// node, such as an assumed pod, unless kube-scheduler has sent that victim: an unknown victim would make the pod's attempt fail on
// all nodes (pkg/scheduler/extender.go convertPodUIDToPod, v1.37).
func (e *Extender) metaVictims(
	node string, c *stowagev1.PreemptionCandidate, sent *extenderv1.MetaVictims,
) *extenderv1.MetaVictims {
	out := &extenderv1.MetaVictims{NumPDBViolations: int64(c.GetPdbViolations())}
	for _, v := range c.GetVictims() {
		pod, err := e.pods.Pods(v.GetNamespace()).Get(v.GetName())
		if err != nil {
			return nil
		}
		uid, bound := string(pod.UID), pod.Spec.NodeName
		isSent := func(v *extenderv1.MetaPod) bool { return v != nil && v.UID == uid }
		if bound != node && (bound != "" || !slices.ContainsFunc(sent.Pods, isSent)) {
			return nil
		}
		out.Pods = append(out.Pods, &extenderv1.MetaPod{UID: uid})
	}
	return out
}
