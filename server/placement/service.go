// Package placement implements the PlacementService and the SimulationService: each RPC decodes its request, calls the engine
// and encodes the response. Package decode validates requests; the engine decides. The services share how a request brings its
// cluster, so they are one package.
//
// The service caches snapshots by content address, responses by snapshot and request, and the parts of inline clusters that are not
// nodes. Caches have budgets and never change a response, except that a snapshot may be missing. Requests that compute take turns by
// package admission; requests with a cached answer do not. The service is safe for concurrent use and holds no locks.
package placement

import (
	"context"

	"google.golang.org/protobuf/proto"

	stowagev1 "github.com/stowage-scheduler/stowage/proto/stowage/v1"
	"github.com/stowage-scheduler/stowage/server/admission"
	"github.com/stowage-scheduler/stowage/server/decode"
	"github.com/stowage-scheduler/stowage/server/instruments"
	"github.com/stowage-scheduler/stowage/server/rpcerror"
	"github.com/stowage-scheduler/stowage/server/snapshots"
	"github.com/stowage-scheduler/stowage/server/wire"
)

// Service implements stowagev1.PlacementServiceServer and stowagev1.SimulationServiceServer. Register serves it without building request
// messages.
type Service struct {
	stowagev1.UnimplementedPlacementServiceServer
	stowagev1.UnimplementedSimulationServiceServer
	snapshots *snapshots.Cache
	nodeless  decode.Nodeless
	decisions *instruments.Decisions
	limits    Limits
	admission *admission.Limiter // nil for none
	places    places
	memories  memories
	envelope  func(proto.Message) error // nil for none
}

// SetEnvelope has requests of unary calls checked before their clusters are decoded. It must be called before the service is used.
func (s *Service) SetEnvelope(check func(proto.Message) error) { s.envelope = check }

// New returns a service with a memory budget for snapshots. decisions may be nil.
func New(snapshotBytes int64, decisions *instruments.Decisions) *Service {
	return &Service{snapshots: snapshots.New(snapshotBytes), decisions: decisions}
}

// Snapshots returns counts of the kept snapshots.
func (s *Service) Snapshots() instruments.Snapshots {
	kept, bytes := s.snapshots.Len()
	return instruments.Snapshots{
		Kept: int64(kept), Bytes: bytes, Limit: s.snapshots.Limit(), Evicted: s.snapshots.Evictions(),
	}
}

// Filter returns the feasible nodes of a pod and the rejections of the others.
func (s *Service) Filter(ctx context.Context, r *stowagev1.FilterRequest) (*stowagev1.FilterResponse, error) {
	return message[stowagev1.FilterResponse](respondTo(ctx, s, &filter, r))
}

// Score returns the scores of a pod's feasible nodes.
func (s *Service) Score(ctx context.Context, r *stowagev1.ScoreRequest) (*stowagev1.ScoreResponse, error) {
	return message[stowagev1.ScoreResponse](respondTo(ctx, s, &score, r))
}

// Place places the pods of a queue.
func (s *Service) Place(ctx context.Context, r *stowagev1.PlaceRequest) (*stowagev1.PlaceResponse, error) {
	return message[stowagev1.PlaceResponse](respondTo(ctx, s, &place, r))
}

// Preempt returns the victims of a pod without feasible nodes.
func (s *Service) Preempt(ctx context.Context, r *stowagev1.PreemptRequest) (*stowagev1.PreemptResponse, error) {
	return message[stowagev1.PreemptResponse](respondTo(ctx, s, &preempt, r))
}

// ScaleDown selects the replicas of a workload to delete.
func (s *Service) ScaleDown(ctx context.Context, r *stowagev1.ScaleDownRequest) (*stowagev1.ScaleDownResponse, error) {
	return message[stowagev1.ScaleDownResponse](respondTo(ctx, s, &scaleDown, r))
}

// Fit counts how many more pods fit.
func (s *Service) Fit(ctx context.Context, r *stowagev1.FitRequest) (*stowagev1.FitResponse, error) {
	return message[stowagev1.FitResponse](respondTo(ctx, s, &fit, r))
}

// Provision finds nodes to add so that the pods of a queue have nodes.
func (s *Service) Provision(ctx context.Context, r *stowagev1.ProvisionRequest) (*stowagev1.ProvisionResponse, error) {
	return message[stowagev1.ProvisionResponse](respondTo(ctx, s, &provision, r))
}

// Consolidate finds nodes to remove or to replace.
func (s *Service) Consolidate(ctx context.Context, r *stowagev1.ConsolidateRequest) (*stowagev1.ConsolidateResponse, error) {
	return message[stowagev1.ConsolidateResponse](respondTo(ctx, s, &consolidate, r))
}

// respondTo handles a decoded request.
func respondTo[M request, C, R any](ctx context.Context, s *Service, m *method[M, C, R], r M) (wire.Encoded, error) {
	t := s.turn(ctx, m.class)
	defer t.end()
	return respond(s, m, t, s.startTimer(m.name), r, fromMessage(r.GetContext().GetCluster()), requestParts{})
}

// fromMessage reads the inline cluster of a decoded request.
func fromMessage(c *stowagev1.Cluster) *inlineCluster {
	if c == nil {
		return nil
	}
	return &inlineCluster{proto.Size(c), func(r *decode.Request) { r.Message(c) }}
}

// message decodes a response for callers of the generated interface.
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
