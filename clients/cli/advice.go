package cli

import (
	"context"

	"github.com/stowage-scheduler/stowage/clients/advice"
	"github.com/stowage-scheduler/stowage/clients/answer/words"
	"github.com/stowage-scheduler/stowage/clients/kube"
	stowagev1 "github.com/stowage-scheduler/stowage/proto/stowage/v1"
)

// advice finds changes of a workload that give its pods a node which have none, alone or after the other pending pods.
func (q *question) advice(a *asked, of []kube.Entry, answer *stowagev1.FilterResponse, after *words.After) ([]advice.Advice, error) {
	asked := &advice.Question{
		Mode: stowagev1.QueueMode_QUEUE_MODE_IN_ORDER, Returning: stowagev1.QueueMode_QUEUE_MODE_IN_ORDER,
		Snapshot: a.snapshot, Profile: a.scheduler.Profile, Pods: of, Offered: answer.GetChanges(),
		Preemption: !a.scheduler.NoPreemption() && answer.GetPreemption().GetNominated() == nil,
		WhatIf: func(ctx context.Context, request *stowagev1.WhatIfRequest) ([]*stowagev1.WhatIfResponse, error) {
			var out []*stowagev1.WhatIfResponse
			err := whatIf(ctx, a, request, func(answer *stowagev1.WhatIfResponse) { out = append(out, answer) })
			return out, err
		},
	}
	switch {
	case after.Later() != "" || after.String() == "" && len(answer.GetFeasibleNodes().GetIndexes()) > 0:
		return nil, nil
	case after.String() != "" && after.First == nil:
		return nil, nil
	case after.String() != "":
		asked.Placed, asked.Offered = after.Pods-after.Unplaced, after.First.GetChanges()
		asked.Preemption = asked.Preemption && after.First.GetPreemption().GetNominated() == nil
	}
	if inOrderOnly(a.snapshot) == "" {
		asked.Returning = stowagev1.QueueMode_QUEUE_MODE_KUBE_SCHEDULER
		if a.snapshot.Live {
			asked.Mode = asked.Returning
		}
	}
	return asked.Find(a.ctx)
}

// textsOf are pieces of advice in words.
func textsOf(all []advice.Advice) []string {
	var out []string
	for i := range all {
		out = append(out, all[i].Text)
	}
	return out
}

// explainedAdvice is advice in JSON and YAML.
type explainedAdvice struct {
	// Text is the change in words.
	Text string `json:"text"`
	// Commands are kubectl's, in order; the one that applies Patch reads it from its standard input. Empty if no command makes the change.
	Commands []string `json:"commands,omitempty"`
	Patch    string   `json:"patch,omitempty"`
}

func explainedAdviceOf(all []advice.Advice) []explainedAdvice {
	var out []explainedAdvice
	for i := range all {
		e := explainedAdvice{Text: all[i].Text}
		if fix := all[i].Fix; fix != nil {
			e.Commands, e.Patch = fix.Commands, string(fix.Patch)
		}
		out = append(out, e)
	}
	return out
}
