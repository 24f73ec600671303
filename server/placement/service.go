// Package placement is the PlacementService: each RPC decodes its request, asks the engine and encodes the answer.
//
// What the service keeps are snapshots, each under the address of its content, for as long as there is room, with a
// snapshot the answers it was asked for, and what clusters in requests had besides nodes; no answer depends on what it has. It may be called concurrently, and waits for
// no lock. It judges nothing itself: package decode says what is wrong with a request, the engine decides.
package placement

import (
	"context"

	"google.golang.org/protobuf/proto"

	stowagev1 "github.com/stowage-scheduler/stowage/proto/stowage/v1"
	"github.com/stowage-scheduler/stowage/server/decode"
	"github.com/stowage-scheduler/stowage/server/rpcerror"
	"github.com/stowage-scheduler/stowage/server/snapshots"
	"github.com/stowage-scheduler/stowage/server/telemetry"
	"github.com/stowage-scheduler/stowage/server/wire"
)

// Service implements stowagev1.PlacementServiceServer. Register serves it without messages in between.
type Service struct {
	stowagev1.UnimplementedPlacementServiceServer
	snapshots *snapshots.Cache
	nodeless  decode.Nodeless
	decisions *telemetry.Decisions
	limits    Limits
}

// New returns a service that keeps so many bytes of snapshots, and measures its decisions unless decisions is nil.
func New(snapshotBytes int64, decisions *telemetry.Decisions) *Service {
	return &Service{snapshots: snapshots.New(snapshotBytes), decisions: decisions}
}

// Filter tells which nodes can take a pod, and why the others cannot.
func (s *Service) Filter(ctx context.Context, r *stowagev1.FilterRequest) (*stowagev1.FilterResponse, error) {
	return message[stowagev1.FilterResponse](answer(ctx, s, &filter, r, stated(r.GetContext().GetCluster()), nil, ""))
}

// Score tells how good each node that can take the pod is.
func (s *Service) Score(ctx context.Context, r *stowagev1.ScoreRequest) (*stowagev1.ScoreResponse, error) {
	return message[stowagev1.ScoreResponse](answer(ctx, s, &score, r, stated(r.GetContext().GetCluster()), nil, ""))
}

// Place decides where the pods of a queue go.
func (s *Service) Place(ctx context.Context, r *stowagev1.PlaceRequest) (*stowagev1.PlaceResponse, error) {
	return message[stowagev1.PlaceResponse](answer(ctx, s, &place, r, stated(r.GetContext().GetCluster()), nil, ""))
}

// ScaleDown tells which replicas of a workload to delete.
func (s *Service) ScaleDown(ctx context.Context, r *stowagev1.ScaleDownRequest) (*stowagev1.ScaleDownResponse, error) {
	return message[stowagev1.ScaleDownResponse](answer(ctx, s, &scaleDown, r, stated(r.GetContext().GetCluster()), nil, ""))
}

func stated(c *stowagev1.Cluster) inline {
	if c == nil {
		return nil
	}
	return func(r *decode.Request) { r.Message(c) }
}

func message[M any, P interface {
	*M
	proto.Message
}](encoded wire.Encoded, err error) (P, error) {
	if err != nil {
		return nil, err
	}
	m := P(new(M))
	if err := proto.Unmarshal(encoded, m); err != nil {
		return nil, rpcerror.Internal(err)
	}
	return m, nil
}
