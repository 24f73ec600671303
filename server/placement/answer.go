package placement

import (
	"context"
	"errors"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"

	stowagev1 "github.com/stowage-scheduler/stowage/proto/stowage/v1"
	"github.com/stowage-scheduler/stowage/server/decode"
	"github.com/stowage-scheduler/stowage/server/encode"
	"github.com/stowage-scheduler/stowage/server/interceptor"
	"github.com/stowage-scheduler/stowage/server/rpcerror"
	"github.com/stowage-scheduler/stowage/server/wire"
)

// request is a request of one of the methods.
type request interface {
	proto.Message
	GetContext() *stowagev1.DecisionContext
}

// inline decodes the cluster that a request states itself; nil if it states none.
type inline func(*decode.Request)

// answer answers a request, which has a form if it may be asked in the same form again. The pod in it stands for the one
// that was read, if one was.
func answer[M request, C, R any](
	ctx context.Context, s *Service, m *method[M, C, R], in M, inline inline, pod *decode.Asked, form string,
) (wire.Encoded, error) {
	clock := s.begin(m.name)
	r, snapshot, err := s.begun(ctx, in, inline)
	if err != nil {
		return nil, answerTo(err)
	}
	key := ""
	if snapshot != nil {
		defer s.snapshots.Count(snapshot)
	}
	if snapshot != nil && in.GetContext().GetSnapshot().GetDelta() == nil {
		key = m.key(in, pod)
		if a, ok := snapshot.Kept(key).(*remembered); ok {
			a.under(snapshot, form)
			return s.again(ctx, m.name, snapshot, a), nil
		}
	}
	r.Ask(pod)
	call := m.read(r, in)
	if err := r.Err(); err != nil {
		return nil, answerTo(err)
	}
	cluster := r.Cluster()
	clock.decoded()
	result, err := m.decide(ctx, cluster, call)
	if err != nil {
		return nil, answerTo(err)
	}
	clock.decided()
	var names encode.Names
	if in.GetContext().GetIncludeNodeNames() {
		names = cluster.Names()
	}
	encoded, err := m.encode(in, result, names, cluster.Address)
	if err != nil {
		return nil, answerTo(err)
	}
	feasible, scanned := m.count(result)
	if key != "" {
		remember(snapshot, key, encoded, feasible).under(snapshot, form)
	}
	clock.end(ctx, cluster.Len(), feasible, scanned)
	return encoded, nil
}

// begun decodes a request's cluster, whichever way it names it, and returns the snapshot that it names, if any.
func (s *Service) begun(ctx context.Context, in request, inline inline) (*decode.Request, *decode.Cluster, error) {
	reference := in.GetContext().GetSnapshot()
	if reference == nil {
		r := decode.NewInline(ctx, &s.nodeless)
		r.Based(in.GetContext())
		if inline != nil {
			inline(r)
		}
		return r, nil, nil
	}
	snapshot, err := s.snapshot(reference.GetAddress(), "context.snapshot.address")
	if err != nil {
		return nil, nil, err
	}
	r := decode.On(ctx, snapshot)
	if delta := reference.GetDelta(); delta != nil {
		if err := reserve(ctx, snapshot, delta); err != nil {
			return nil, nil, err
		}
		r.Delta("context.snapshot.delta", delta)
	}
	return r, snapshot, nil
}

// heapPerByte is about what a byte of a request takes of the heap: the peak for the compact form in bench/figures.md.
const heapPerByte = 6

// reserve counts what a delta copies as if it had come with the request, or fails if that is too much at the moment.
func reserve(ctx context.Context, base *decode.Cluster, delta *stowagev1.ClusterDelta) error {
	return interceptor.Reserve(ctx, base.CopiedBy(delta)/heapPerByte)
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
