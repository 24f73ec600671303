// Package placement is the PlacementService: each RPC decodes its request, asks the engine and encodes the answer.
//
// What the service keeps are snapshots, each under the address of its content, for as long as there is room; no answer
// depends on which it has. It may be called concurrently, and waits for no lock. It judges nothing itself: package
// decode says what is wrong with a request, the engine decides.
package placement

import (
	"context"
	"errors"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	stowagev1 "github.com/stowage-scheduler/stowage/proto/stowage/v1"
	"github.com/stowage-scheduler/stowage/server/decode"
	"github.com/stowage-scheduler/stowage/server/encode"
	"github.com/stowage-scheduler/stowage/server/rpcerror"
	"github.com/stowage-scheduler/stowage/server/snapshots"
	"github.com/stowage-scheduler/stowage/server/telemetry"
)

// Service implements stowagev1.PlacementServiceServer.
type Service struct {
	stowagev1.UnimplementedPlacementServiceServer
	snapshots *snapshots.Cache
	decisions *telemetry.Decisions
}

// New returns a service that keeps so many bytes of snapshots, and measures its decisions unless decisions is nil.
func New(snapshotBytes int64, decisions *telemetry.Decisions) *Service {
	return &Service{snapshots: snapshots.New(snapshotBytes), decisions: decisions}
}

// Filter tells which nodes can take a pod, and why the others cannot.
func (s *Service) Filter(ctx context.Context, r *stowagev1.FilterRequest) (*stowagev1.FilterResponse, error) {
	return s.filter(ctx, r, message(r.GetCluster()))
}

// Score tells how good each node that can take the pod is.
func (s *Service) Score(ctx context.Context, r *stowagev1.ScoreRequest) (*stowagev1.ScoreResponse, error) {
	return s.score(ctx, r, message(r.GetCluster()))
}

// Place decides where the pods of a queue go.
func (s *Service) Place(ctx context.Context, r *stowagev1.PlaceRequest) (*stowagev1.PlaceResponse, error) {
	return s.place(ctx, r, message(r.GetCluster()))
}

func (s *Service) filter(ctx context.Context, r *stowagev1.FilterRequest, inline inline) (*stowagev1.FilterResponse, error) {
	a := s.begin("Filter")
	cluster, call, err := question(ctx, s, r, inline, (*decode.Request).Filter)
	if err != nil {
		return nil, answerTo(err)
	}
	a.decoded()
	result, err := cluster.Filter(ctx, call.Pod, call.Options)
	if err != nil {
		return nil, answerTo(err)
	}
	a.decided()
	answer := encode.Filter(result, names(r.GetIncludeNodeNames(), cluster))
	answer.SnapshotAddress = cluster.Address
	a.end(ctx, cluster.Len(), len(result.Feasible))
	return answer, nil
}

func (s *Service) score(ctx context.Context, r *stowagev1.ScoreRequest, inline inline) (*stowagev1.ScoreResponse, error) {
	a := s.begin("Score")
	cluster, call, err := question(ctx, s, r, inline, (*decode.Request).Score)
	if err != nil {
		return nil, answerTo(err)
	}
	a.decoded()
	result, err := cluster.Score(ctx, call.Pod, call.Options)
	if err != nil {
		return nil, answerTo(err)
	}
	a.decided()
	answer := encode.Score(result, names(r.GetIncludeNodeNames(), cluster), r.GetIncludePluginScores())
	answer.SnapshotAddress = cluster.Address
	a.end(ctx, cluster.Len(), len(result.Nodes))
	return answer, nil
}

func (s *Service) place(ctx context.Context, r *stowagev1.PlaceRequest, inline inline) (*stowagev1.PlaceResponse, error) {
	a := s.begin("Place")
	cluster, call, err := question(ctx, s, r, inline, (*decode.Request).Place)
	if err != nil {
		return nil, answerTo(err)
	}
	a.decoded()
	result, err := cluster.Place(ctx, call.Queue, call.Options)
	if err != nil {
		return nil, answerTo(err)
	}
	a.decided()
	answer := encode.Place(result, names(r.GetIncludeNodeNames(), cluster))
	answer.SnapshotAddress = cluster.Address
	a.end(ctx, cluster.Len(), int(answer.PlacedCount))
	return answer, nil
}

// inline decodes the cluster that a request states itself; nil if it states none.
type inline func(*decode.Request)

func message(c *stowagev1.Cluster) inline {
	if c == nil {
		return nil
	}
	return func(r *decode.Request) { r.Message(c) }
}

// question decodes a request: its cluster, whichever way it names it, and what it asks.
func question[M interface {
	GetSnapshot() *stowagev1.SnapshotReference
}, C any](ctx context.Context, s *Service, in M, inline inline, read func(*decode.Request, M) C) (*decode.Cluster, C, error) {
	var none C
	var r *decode.Request
	reference := in.GetSnapshot()
	if reference == nil || inline != nil {
		r = decode.NewRequest(ctx)
		r.OneOf(inline != nil, reference != nil)
		if inline != nil {
			inline(r)
		}
	} else {
		base, err := s.snapshot(reference.GetAddress(), "snapshot.address")
		if err != nil {
			return nil, none, err
		}
		r = decode.On(ctx, base)
		r.Delta("snapshot.delta", reference.GetDelta())
	}
	call := read(r, in)
	if err := r.Err(); err != nil {
		return nil, none, err
	}
	return r.Cluster(), call, nil
}

// snapshot returns the cluster of an address that a request has in a field.
func (s *Service) snapshot(address, field string) (*decode.Cluster, error) {
	a, err := decode.Address(address, field)
	if err != nil {
		return nil, err
	}
	c := s.snapshots.Get(a)
	if c == nil {
		return nil, rpcerror.UnknownSnapshot(address)
	}
	return c, nil
}

// answerTo turns what decode or the engine failed with into the answer.
func answerTo(err error) error {
	var invalid *decode.Error
	switch {
	case status.Code(err) != codes.Unknown: // an answer already
		return err
	case errors.As(err, &invalid):
		return rpcerror.Invalid(invalid)
	case errors.Is(err, context.DeadlineExceeded), errors.Is(err, context.Canceled):
		return rpcerror.Cancelled(err)
	default:
		return rpcerror.Internal(err)
	}
}

// names are the nodes whose names the answer gives.
func names(wanted bool, c *decode.Cluster) encode.Names {
	if !wanted {
		return nil
	}
	return c.Names()
}

// measured is a decision while its parts are measured.
type measured struct {
	telemetry.Decision
	to   *telemetry.Decisions
	last time.Time
}

func (s *Service) begin(method string) *measured {
	return &measured{telemetry.Decision{Method: method}, s.decisions, time.Now()}
}

func (m *measured) decoded() { m.Decode = m.lap() }
func (m *measured) decided() { m.Engine = m.lap() }

func (m *measured) end(ctx context.Context, nodes, feasible int) {
	m.Encode = m.lap()
	m.Nodes, m.Feasible = nodes, feasible
	m.to.Record(ctx, m.Decision)
}

// lap is the time since the last lap.
func (m *measured) lap() time.Duration {
	now := time.Now()
	took := now.Sub(m.last)
	m.last = now
	return took
}
