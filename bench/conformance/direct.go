package conformance

import (
	"context"

	"google.golang.org/grpc"

	stowagev1 "github.com/stowage-scheduler/stowage/proto/stowage/v1"
)

// Direct returns a client that calls a service in this process, without a connection.
func Direct(service stowagev1.PlacementServiceServer) stowagev1.PlacementServiceClient {
	return direct{service}
}

type direct struct {
	service stowagev1.PlacementServiceServer
}

func (d direct) Filter(ctx context.Context, r *stowagev1.FilterRequest, _ ...grpc.CallOption) (*stowagev1.FilterResponse, error) {
	return d.service.Filter(ctx, r)
}

func (d direct) Score(ctx context.Context, r *stowagev1.ScoreRequest, _ ...grpc.CallOption) (*stowagev1.ScoreResponse, error) {
	return d.service.Score(ctx, r)
}

func (d direct) Place(ctx context.Context, r *stowagev1.PlaceRequest, _ ...grpc.CallOption) (*stowagev1.PlaceResponse, error) {
	return d.service.Place(ctx, r)
}
