package cli

import (
	"github.com/stowage-scheduler/stowage/clients/answer/words"

	corev1 "k8s.io/api/core/v1"

	"github.com/stowage-scheduler/stowage/clients/kube"
	"github.com/stowage-scheduler/stowage/clients/rollout"
	"github.com/stowage-scheduler/stowage/clients/simulate"
	"github.com/stowage-scheduler/stowage/clients/whatif"

	stowagev1 "github.com/stowage-scheduler/stowage/proto/stowage/v1"
)

// underWay decides how the rollout goes on whose pod has no node; nil if there is none.
func (q *question) underWay(a *asked, e kube.Entry, answer *stowagev1.FilterResponse, after *words.After) (*whatif.Rollout, error) {
	if after.Later() != "" || len(answer.GetFeasibleNodes().GetIndexes()) > 0 && after.String() == "" {
		return nil, nil
	}
	of := a.snapshot.UnderWay(&e)
	if of == nil {
		return nil, nil
	}
	client, stop, err := q.simulator(a.ctx)
	if err != nil {
		return nil, err
	}
	defer stop()
	s, err := simulate.New(a.ctx, client, a.snapshot, simulate.Options{Profile: a.scheduler.Profile})
	if err != nil {
		return nil, err
	}
	var waiting []*corev1.Pod
	for i := range a.snapshot.Queue {
		if other := &a.snapshot.Queue[i]; other.SameOwner(&e) {
			waiting = append(waiting, other.Object())
		}
	}
	return rollout.Continue(a.ctx, s, of, waiting, !a.scheduler.NoPreemption())
}
