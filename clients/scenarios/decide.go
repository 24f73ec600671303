package scenarios

import (
	"context"

	"google.golang.org/grpc"

	stowagev1 "github.com/stowage-scheduler/stowage/proto/stowage/v1"
)

// Decider answers questions.
type Decider func(ctx context.Context, q *Question) (*Answer, error)

// Service has the methods that scenarios call. Every stowagev1.PlacementServiceClient is one.
type Service interface {
	Filter(context.Context, *stowagev1.FilterRequest, ...grpc.CallOption) (*stowagev1.FilterResponse, error)
	Score(context.Context, *stowagev1.ScoreRequest, ...grpc.CallOption) (*stowagev1.ScoreResponse, error)
	Place(context.Context, *stowagev1.PlaceRequest, ...grpc.CallOption) (*stowagev1.PlaceResponse, error)
	Preempt(context.Context, *stowagev1.PreemptRequest, ...grpc.CallOption) (*stowagev1.PreemptResponse, error)
	ScaleDown(context.Context, *stowagev1.ScaleDownRequest, ...grpc.CallOption) (*stowagev1.ScaleDownResponse, error)
}

// Client calls a server.
func Client(client Service) Decider {
	return func(ctx context.Context, q *Question) (a *Answer, err error) {
		a = &Answer{}
		switch {
		case q.Filter != nil:
			a.Filter, err = client.Filter(ctx, q.Filter)
		case q.Score != nil:
			a.Score, err = client.Score(ctx, q.Score)
		case q.Preempt != nil:
			a.Preempt, err = client.Preempt(ctx, q.Preempt)
		case q.ScaleDown != nil:
			a.ScaleDown, err = client.ScaleDown(ctx, q.ScaleDown)
		default:
			a.Place, err = client.Place(ctx, q.Place)
		}
		return a, err
	}
}
