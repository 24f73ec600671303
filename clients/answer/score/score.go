// Package score answers how good the feasible nodes of a pending pod are.
package score

import (
	"context"
	"fmt"

	"github.com/stowage-scheduler/stowage/clients/answer"
	"github.com/stowage-scheduler/stowage/clients/answer/pod"
	"github.com/stowage-scheduler/stowage/clients/answer/words"
	stowagev1 "github.com/stowage-scheduler/stowage/proto/stowage/v1"
)

// Kind is the kind of the document.
const Kind = "ScoreReport"

// Answer is the document of kind ScoreReport.
type Answer = pod.Answer[*stowagev1.ScoreResponse]

// Ask scores the nodes for the pending pod that a name chooses; empty for the only one.
func Ask(ctx context.Context, q *answer.Question, name string) (*Answer, error) {
	return pod.Question[*stowagev1.ScoreResponse]{
		Kind: Kind,
		Untried: func(message string, doubts []*stowagev1.Doubt) *stowagev1.ScoreResponse {
			return &stowagev1.ScoreResponse{Message: message, Doubts: doubts}
		},
		Ask: func(about *stowagev1.DecisionContext, of *stowagev1.Pod) (*stowagev1.ScoreResponse, error) {
			request := &stowagev1.ScoreRequest{Context: about, Pod: of, IncludePluginScores: true}
			response, err := q.Client.Score(ctx, request)
			return response, answer.Refused(request, err)
		},
		Nodes: (*stowagev1.ScoreResponse).GetNodes,
		Verdict: func(response *stowagev1.ScoreResponse, cluster *stowagev1.Cluster) string {
			if text := response.GetMessage(); text != "" {
				return text
			}
			return fmt.Sprintf("%s of %d scored", words.Plural(len(response.GetNodes().GetIndexes()), "node"), len(cluster.GetNodes()))
		},
	}.Put(q, name)
}
