package scenarios

import (
	"context"

	stowagev1 "github.com/stowage-scheduler/stowage/proto/stowage/v1"
)

// Decider answers questions.
type Decider func(ctx context.Context, q *Question) (*Answer, error)

// Client asks a server.
func Client(client stowagev1.PlacementServiceClient) Decider {
	return func(ctx context.Context, q *Question) (a *Answer, err error) {
		a = &Answer{}
		switch {
		case q.Filter != nil:
			a.Filter, err = client.Filter(ctx, q.Filter)
		case q.Score != nil:
			a.Score, err = client.Score(ctx, q.Score)
		default:
			a.Place, err = client.Place(ctx, q.Place)
		}
		return a, err
	}
}
