package compare

import (
	"context"

	"google.golang.org/grpc"

	"github.com/stowage-scheduler/stowage/engine"
	stowagev1 "github.com/stowage-scheduler/stowage/proto/stowage/v1"
	"github.com/stowage-scheduler/stowage/server/decode"
	"github.com/stowage-scheduler/stowage/server/encode"
)

// InProcess answers as the server does, without a connection.
type InProcess struct{}

var _ stowagev1.PlacementServiceClient = InProcess{}

// Filter implements stowagev1.PlacementServiceClient.
func (InProcess) Filter(ctx context.Context, r *stowagev1.FilterRequest, _ ...grpc.CallOption) (*stowagev1.FilterResponse, error) {
	call, err := decode.Filter(r)
	if err != nil {
		return nil, err
	}
	cluster, err := engine.Compile(ctx, call.Cluster)
	if err != nil {
		return nil, err
	}
	out, err := cluster.Filter(ctx, call.Pod, call.Options)
	if err != nil {
		return nil, err
	}
	return encode.Filter(out, nil), nil
}

// Score implements stowagev1.PlacementServiceClient.
func (InProcess) Score(ctx context.Context, r *stowagev1.ScoreRequest, _ ...grpc.CallOption) (*stowagev1.ScoreResponse, error) {
	call, err := decode.Score(r)
	if err != nil {
		return nil, err
	}
	cluster, err := engine.Compile(ctx, call.Cluster)
	if err != nil {
		return nil, err
	}
	out, err := cluster.Score(ctx, call.Pod, call.Options)
	if err != nil {
		return nil, err
	}
	return encode.Score(out, nil), nil
}

// Place implements stowagev1.PlacementServiceClient.
func (InProcess) Place(ctx context.Context, r *stowagev1.PlaceRequest, _ ...grpc.CallOption) (*stowagev1.PlaceResponse, error) {
	call, err := decode.Place(r)
	if err != nil {
		return nil, err
	}
	cluster, err := engine.Compile(ctx, call.Cluster)
	if err != nil {
		return nil, err
	}
	out, err := cluster.Place(ctx, call.Queue, call.Options)
	if err != nil {
		return nil, err
	}
	return encode.Place(out, nil), nil
}
