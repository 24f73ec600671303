// Package preempt answers which pods an unschedulable pod preempts.
package preempt

import (
	"context"

	"github.com/stowage-scheduler/stowage/clients/answer"
	"github.com/stowage-scheduler/stowage/clients/answer/pod"
	"github.com/stowage-scheduler/stowage/clients/answer/words"
	stowagev1 "github.com/stowage-scheduler/stowage/proto/stowage/v1"
)

// Options add searches that kube-scheduler does not have.
type Options struct {
	// Safe finds victims whose replacements would all be placed; nil for no such search.
	Safe *stowagev1.SafePreemptionOptions
	// AcrossNodes finds the fewest victims on any nodes; nil for no such search.
	AcrossNodes *stowagev1.AcrossNodesOptions
}

// Kind is the kind of the document.
const Kind = "PreemptReport"

// Answer is the document of kind PreemptReport.
type Answer = pod.Answer[*stowagev1.PreemptResponse]

// Ask finds the victims for the pending pod that a name chooses; empty for the only one.
func Ask(ctx context.Context, q *answer.Question, name string, o Options) (*Answer, error) {
	return pod.Question[*stowagev1.PreemptResponse]{
		Kind: Kind,
		Untried: func(message string, doubts []*stowagev1.Doubt) *stowagev1.PreemptResponse {
			return &stowagev1.PreemptResponse{Message: message, Doubts: doubts}
		},
		Ask: func(about *stowagev1.DecisionContext, of *stowagev1.Pod) (*stowagev1.PreemptResponse, error) {
			request := &stowagev1.PreemptRequest{Context: about, Pod: of, Safe: o.Safe, AcrossNodes: o.AcrossNodes}
			response, err := q.Client.Preempt(ctx, request)
			return response, answer.Refused(request, err)
		},
		Nodes: (*stowagev1.PreemptResponse).GetFeasibleNodes,
		Verdict: func(response *stowagev1.PreemptResponse, cluster *stowagev1.Cluster) string {
			x := &words.Explanation{Cluster: cluster}
			if nodes := response.GetFeasibleNodes().GetNames(); len(nodes) > 0 {
				return "The pod needs no preemption: " + words.Names(nodes) + " can take it."
			}
			if text := x.Preemption(response.GetPreemption()); text != "" {
				return text
			}
			return response.GetMessage()
		},
	}.Put(q, name)
}
