package cli

import (
	"context"

	"github.com/stowage-scheduler/stowage/clients/answer"
	"github.com/stowage-scheduler/stowage/clients/answer/rollouts"
	"github.com/stowage-scheduler/stowage/clients/kube"
	"github.com/stowage-scheduler/stowage/clients/whatif"
	stowagev1 "github.com/stowage-scheduler/stowage/proto/stowage/v1"
)

// decideRollouts decides the rollouts of a snapshot whose queue was placed.
func (q *question) decideRollouts(ctx context.Context, a *asked, placed *stowagev1.PlaceResponse) ([]*whatif.Rollout, error) {
	if !q.rollouts || len(a.snapshot.Rollouts) == 0 {
		return nil, nil
	}
	of := q.about(a.session, a.snapshot, a.scheduler)
	client, stop, err := q.simulator(ctx)
	if err != nil {
		return nil, err
	}
	defer stop()
	of.Client = client
	return rollouts.Decide(ctx, of, placed)
}

// doubtRollouts adds the doubts about the pods that rollouts create.
func (q *question) doubtRollouts(snapshot *kube.Snapshot, all []*whatif.Rollout) {
	j := answer.Judgement{Doubts: q.doubts}
	rollouts.Doubt(&answer.Question{Snapshot: snapshot}, &j, all)
	q.doubts = j.Doubts
}
