package placement

import (
	"context"
	"errors"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"

	stowagev1 "github.com/stowage-scheduler/stowage/proto/stowage/v1"
	"github.com/stowage-scheduler/stowage/server/caller"
	"github.com/stowage-scheduler/stowage/server/decode"
	"github.com/stowage-scheduler/stowage/server/encode"
	"github.com/stowage-scheduler/stowage/server/interceptor"
	"github.com/stowage-scheduler/stowage/server/rpcerror"
	"github.com/stowage-scheduler/stowage/server/wire"
)

// request is the request of a unary RPC.
type request interface {
	proto.Message
	GetContext() *stowagev1.DecisionContext
}

// inlineCluster is the cluster in a request. It is nil if the request has none.
type inlineCluster struct {
	bytes  int
	decode func(*decode.Request)
}

// requestParts are the parts of a request outside its message and its cluster.
type requestParts struct {
	// pods replaces the pods of the message, unless it is nil.
	pods *decode.RequestPods
	// rawKey is the key of the encoded request in the response cache, empty if it has none.
	rawKey string
	// bytes is the size of the encoded request without its cluster.
	bytes int
}

// respond handles a decoded request in its turn and returns its encoded response.
func respond[M request, C, R any](
	s *Service, m *method[M, C, R], turn *turn, timing timer, in M, inline *inlineCluster, ask requestParts,
) (wire.Encoded, error) {
	if err := turn.reads(s, in, inline, ask.bytes); err != nil {
		return nil, err
	}
	r, snapshot, err := s.decodeCluster(turn, in, inline, ask.pods)
	if err != nil {
		return nil, statusOf(err)
	}
	ctx := turn.ctx
	r.Ask(ask.pods)
	key := ""
	if snapshot != nil {
		defer s.snapshots.Recount(caller.Tenant(ctx), snapshot)
	}
	if snapshot != nil && in.GetContext().GetSnapshot().GetDelta() == nil {
		key = m.key(in, ask.pods)
		if hit, ok := snapshot.Kept(key).(*cachedResponse); ok {
			hit.addRawKey(snapshot, ask.rawKey)
			return s.serveCached(ctx, m.name, snapshot, hit), nil
		}
	}
	call := m.read(r, in)
	if err := r.Err(); err != nil {
		return nil, statusOf(err)
	}
	turn.leavePlace()
	timing.decodeDone()
	cluster := r.Cluster()
	timing.compileDone()
	if err := turn.begin(m.work(cluster, call)); err != nil {
		return nil, err
	}
	timing.lap()
	ctx = turn.ctx
	if m.lend != nil {
		memory := s.memories.take()
		defer s.memories.give(memory)
		m.lend(&call, memory)
	}
	result, err := m.decide(ctx, cluster, call)
	if err != nil {
		return nil, statusOf(err)
	}
	timing.engineDone()
	var names encode.Names
	if in.GetContext().GetIncludeNodeNames() {
		names = cluster.Names()
	}
	encoded, err := m.encode(in, result, names, cluster.Address)
	if err != nil {
		return nil, statusOf(err)
	}
	feasible, scanned := m.count(result)
	if key != "" {
		cache(snapshot, key, encoded, feasible).addRawKey(snapshot, ask.rawKey)
	}
	timing.encodeDone(ctx, cluster.Len(), feasible, scanned)
	return encoded, nil
}

// respondInParts handles a decoded request in its turn and sends the parts of its response.
func respondInParts[M request, C any](
	s *Service, m *streamed[M, C], turn *turn, timing timer, in M, inline *inlineCluster, ask requestParts, send func(wire.Encoded) error,
) error {
	if err := turn.reads(s, in, inline, ask.bytes); err != nil {
		return err
	}
	r, snapshot, err := s.decodeCluster(turn, in, inline, ask.pods)
	if err != nil {
		return err
	}
	ctx := turn.ctx
	if snapshot != nil {
		defer s.snapshots.Recount(caller.Tenant(ctx), snapshot)
	}
	r.Ask(ask.pods)
	call := m.read(r, in)
	if err := r.Err(); err != nil {
		return err
	}
	turn.leavePlace()
	timing.decodeDone()
	to := &answering{cluster: r.Cluster(), turn: turn}
	timing.compileDone()
	if err := turn.begin(m.work(to.cluster, call)); err != nil {
		return err
	}
	timing.lap()
	to.send = func(part wire.Encoded) error { return turn.blocking(func() error { return send(part) }) }
	if to.named = in.GetContext().GetIncludeNodeNames(); to.named {
		to.names = to.cluster.Names()
	}
	placed, err := m.serve(turn.ctx, to, call)
	if err != nil {
		return err
	}
	timing.engineDone()
	timing.encodeDone(ctx, to.cluster.Len(), placed, 0)
	return nil
}

// decodeCluster decodes a request's inline cluster, or looks up its snapshot and applies its delta. The returned snapshot is nil for
// an inline cluster. pods are the pods of the request, nil if they are in the message.
func (s *Service) decodeCluster(
	t *turn, in request, inline *inlineCluster, pods *decode.RequestPods,
) (*decode.Request, *decode.Snapshot, error) {
	reference := in.GetContext().GetSnapshot()
	if reference == nil {
		r := decode.NewInline(t.ctx, &s.nodeless)
		if pods.Deltas() { // they apply to the content
			r = decode.NewRequest(t.ctx)
		}
		r.Based(in.GetContext())
		if inline != nil {
			inline.decode(r)
		}
		return r, nil, nil
	}
	snapshot, err := s.snapshot(t.ctx, reference.GetAddress(), "context.snapshot.address")
	if err != nil {
		return nil, nil, err
	}
	r := decode.On(t.ctx, snapshot)
	if delta := reference.GetDelta(); delta != nil {
		if err := reserve(t.ctx, snapshot, delta); err != nil {
			return nil, nil, err
		}
		r.Delta("context.snapshot.delta", delta)
	}
	return r, snapshot, nil
}

// heapPerByte bounds the peak of the heap per byte of a request in the compact form; bench/figures.md has the measured peak.
const heapPerByte = 6

// reserve charges the memory that a delta copies to the in-flight limit, as the size of a request of that memory.
func reserve(ctx context.Context, base *decode.Snapshot, delta *stowagev1.ClusterDelta) error {
	return interceptor.Reserve(ctx, base.CopiedBy(delta)/heapPerByte)
}

// snapshot returns the caller's snapshot of an address. field is the address's path in the request, for errors.
func (s *Service) snapshot(ctx context.Context, address, field string) (*decode.Snapshot, error) {
	a, err := decode.Address(address, field)
	if err != nil {
		return nil, err
	}
	c := s.snapshots.Get(caller.Tenant(ctx), a)
	if c == nil {
		return nil, rpcerror.UnknownSnapshot(address)
	}
	return c, nil
}

// statusOf returns the gRPC status error for an error of decode or the engine.
func statusOf(err error) error {
	var invalid *decode.Error
	switch {
	case status.Code(err) != codes.Unknown: // has a status
		return err
	case errors.As(err, &invalid):
		return rpcerror.Invalid(invalid)
	case errors.Is(err, context.DeadlineExceeded), errors.Is(err, context.Canceled):
		return rpcerror.Cancelled(err)
	default:
		return rpcerror.Internal(err)
	}
}
