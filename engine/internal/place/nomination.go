package place

import (
	"context"

	"github.com/stowage-scheduler/stowage/engine/internal/preempt"
)

// Fail applies what a failed attempt changes about the nomination that the cluster lists for the pod of an entry. kube-scheduler
// clears it if preemption finds no node or the attempt ends with an error, and moves it to the node that preemption finds; it keeps
// it for a pod that may not preempt, or that has scheduling gates (pkg/scheduler/schedule_one.go schedulingAlgorithm and
// handleSchedulingFailure, v1.37). A queue in order evicts no pod, so no pod is nominated to another node here.
func (q *Queue) Fail(ctx context.Context, entry int) error {
	pod := &q.Pending[entry].Pod
	node, nominated := q.State.NominationOf(pod.Template.Namespace, pod.Name)
	if !nominated {
		return nil
	}
	c := q.Classes[entry]
	outcome, err := q.Rejected(ctx, c)
	if err != nil || c.Decision.Gated() != nil {
		return err
	}
	if outcome.Feasible.Empty() {
		found, err := preempt.Find(ctx, c.Decision, q.Candidates, outcome.Rejections, preempt.Options{})
		if err != nil {
			return err
		}
		if found != nil && !found.ClearsNomination && (found.Nominated == nil || found.Nominated.Node == node) {
			return nil
		}
	}
	q.State.Supersede(pod.Template.Namespace, pod.Name)
	q.Renominated()
	return nil
}
