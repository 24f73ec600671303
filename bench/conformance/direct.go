package conformance

import (
	"context"

	"google.golang.org/grpc"

	stowagev1 "github.com/stowage-scheduler/stowage/proto/stowage/v1"
)

// Service answers the questions of cases. Every stowagev1.PlacementServiceClient does.
type Service interface {
	Filter(context.Context, *stowagev1.FilterRequest, ...grpc.CallOption) (*stowagev1.FilterResponse, error)
	Score(context.Context, *stowagev1.ScoreRequest, ...grpc.CallOption) (*stowagev1.ScoreResponse, error)
	Place(context.Context, *stowagev1.PlaceRequest, ...grpc.CallOption) (*stowagev1.PlaceResponse, error)
	Preempt(context.Context, *stowagev1.PreemptRequest, ...grpc.CallOption) (*stowagev1.PreemptResponse, error)
}

// ScaleDown is a Service that answers what kube-scheduler does not.
type ScaleDown interface {
	Service
	ScaleDown(context.Context, *stowagev1.ScaleDownRequest, ...grpc.CallOption) (*stowagev1.ScaleDownResponse, error)
}

// Direct calls a service in this process, without a connection.
func Direct(service stowagev1.PlacementServiceServer) ScaleDown { return direct{service} }

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

func (d direct) Preempt(
	ctx context.Context, r *stowagev1.PreemptRequest, _ ...grpc.CallOption,
) (*stowagev1.PreemptResponse, error) {
	return d.service.Preempt(ctx, r)
}

func (d direct) ScaleDown(ctx context.Context, r *stowagev1.ScaleDownRequest, _ ...grpc.CallOption) (*stowagev1.ScaleDownResponse, error) {
	return d.service.ScaleDown(ctx, r)
}
