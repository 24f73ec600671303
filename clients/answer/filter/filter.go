// Package filter answers which nodes can take a pending pod, and why the others cannot.
package filter

import (
	"context"
	"fmt"

	"github.com/stowage-scheduler/stowage/clients/answer"
	"github.com/stowage-scheduler/stowage/clients/answer/pod"
	"github.com/stowage-scheduler/stowage/clients/answer/words"
	stowagev1 "github.com/stowage-scheduler/stowage/proto/stowage/v1"
)

// Kind is the kind of the document.
const Kind = "FilterReport"

// Answer is the document of kind FilterReport.
type Answer = pod.Answer[*stowagev1.FilterResponse]

// Ask filters the nodes for the pending pod that a name chooses; empty for the only one.
func Ask(ctx context.Context, q *answer.Question, name string) (*Answer, error) {
	return pod.Question[*stowagev1.FilterResponse]{
		Kind: Kind,
		Untried: func(message string, doubts []*stowagev1.Doubt) *stowagev1.FilterResponse {
			return &stowagev1.FilterResponse{Message: message, Doubts: doubts}
		},
		Ask: func(about *stowagev1.DecisionContext, of *stowagev1.Pod) (*stowagev1.FilterResponse, error) {
			request := &stowagev1.FilterRequest{Context: about, Pod: of, IncludePreemption: true}
			response, err := q.Client.Filter(ctx, request)
			return response, answer.Refused(request, err)
		},
		Nodes:   (*stowagev1.FilterResponse).GetFeasibleNodes,
		Verdict: Verdict,
	}.Put(q, name)
}

// Verdict reports which nodes can take the pod, or in kube-scheduler's words why none can.
func Verdict(response *stowagev1.FilterResponse, cluster *stowagev1.Cluster) string {
	if text := response.GetMessage(); text != "" {
		return text
	}
	feasible := response.GetFeasibleNodes().GetNames()
	return fmt.Sprintf("%d of %s can take it: %s", len(feasible), words.Plural(len(cluster.GetNodes()), "node"), words.Names(feasible))
}
