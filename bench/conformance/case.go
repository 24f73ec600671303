package conformance

import (
	stowagev1 "github.com/stowage-scheduler/stowage/proto/stowage/v1"
)

// Case is a request and the answers to it.
type Case struct {
	// Name is the origin of the case.
	Name    string
	Request *stowagev1.PlaceRequest
	Answers
}

// Answers are the expected answers of a case.
type Answers struct {
	Place *stowagev1.PlaceResponse
	// Filter and Score have one answer per entry of the queue, for its pod on the cluster of the request.
	Filter []*stowagev1.FilterResponse
	Score  []*stowagev1.ScoreResponse
	// Preempt is the same for Preempt, and for Filter with include_preemption; PlacePreempting is for Place with include_preemption.
	// Without them the case tests no preemption.
	Preempt         []*stowagev1.PreemptResponse
	PlacePreempting *stowagev1.PlaceResponse
}

// FilterRequest asks Filter for the pod of an entry of the request's queue.
func FilterRequest(r *stowagev1.PlaceRequest, entry int) *stowagev1.FilterRequest {
	return &stowagev1.FilterRequest{
		Context:        contextOf(r),
		Pod:            r.Queue[entry].Pod,
		CandidateNodes: r.CandidateNodes,
		Explain:        true,
	}
}

// ScoreRequest asks Score for the pod of an entry of the request's queue.
func ScoreRequest(r *stowagev1.PlaceRequest, entry int) *stowagev1.ScoreRequest {
	return &stowagev1.ScoreRequest{
		Context:        contextOf(r),
		Pod:            r.Queue[entry].Pod,
		CandidateNodes: r.CandidateNodes,

		IncludePluginScores: true,
		IncludeRejections:   true,
	}
}

// PreemptRequest asks Preempt for the pod of an entry of the request's queue.
func PreemptRequest(r *stowagev1.PlaceRequest, entry int) *stowagev1.PreemptRequest {
	return &stowagev1.PreemptRequest{
		Context:           contextOf(r),
		Pod:               r.Queue[entry].Pod,
		CandidateNodes:    r.CandidateNodes,
		IncludeCandidates: true,
	}
}

// contextOf is the context of a request, without the names of nodes.
func contextOf(r *stowagev1.PlaceRequest) *stowagev1.DecisionContext {
	return &stowagev1.DecisionContext{Base: r.GetContext().GetBase(), Profile: r.GetContext().GetProfile()}
}
