package placement

import (
	"context"
	"errors"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/protobuf/proto"

	stowagev1 "github.com/stowage-scheduler/stowage/proto/stowage/v1"
	"github.com/stowage-scheduler/stowage/server/admission"
	"github.com/stowage-scheduler/stowage/server/caller"
	"github.com/stowage-scheduler/stowage/server/count"
	"github.com/stowage-scheduler/stowage/server/decode"
	"github.com/stowage-scheduler/stowage/server/encode"
	"github.com/stowage-scheduler/stowage/server/wire"
)

// receivePlaceStream receives the request of a PlaceStream call and leaves its cluster in the frames.
func (s *Service) receivePlaceStream(stream grpc.ServerStream, table *count.Table) error {
	m := new(stowagev1.PlaceStreamRequest)
	in := wire.NewRequest(m, placeField, contextField, clusterField)
	if err := stream.RecvMsg(in); err != nil {
		return err
	}
	defer in.Free()
	t := s.turn(stream.Context(), ofPlace)
	defer t.end()
	var ask requestParts
	in.Read = func(rest []byte) (err error) {
		ask.bytes = len(rest)
		ask.pods, err = decode.ReadPlaceStream(rest, m)
		return err
	}
	if err := t.decode(in, table, decode.ErrNoMessage); err != nil {
		return statusOf(err)
	}
	send := func(part wire.Encoded) error { return stream.SendMsg(part) }
	return s.servePlaceStream(t, m, fromFrames(in), ask, send)
}

// PlaceStream places the pods of a queue and streams the placements.
func (s *Service) PlaceStream(in *stowagev1.PlaceStreamRequest, stream grpc.ServerStreamingServer[stowagev1.PlaceStreamResponse]) error {
	t := s.turn(stream.Context(), ofPlace)
	defer t.end()
	return s.servePlaceStream(t, in, fromMessage(in.GetPlace().GetContext().GetCluster()), requestParts{}, inMessages(stream))
}

func (s *Service) servePlaceStream(
	t *turn, in *stowagev1.PlaceStreamRequest, inline *inlineCluster, ask requestParts, send func(wire.Encoded) error,
) error {
	if in.PodsPerMessage != nil && in.GetPodsPerMessage() == 0 {
		return statusOf(decode.Refuse("pods_per_message", stowagev1.ViolationReason_VIOLATION_REASON_OUT_OF_RANGE, "is 0, at least 1 is required"))
	}
	return statusOf(prefixField("place", s.placeStream(t, in, inline, ask, send)))
}

func (s *Service) placeStream(
	turn *turn, in *stowagev1.PlaceStreamRequest, inline *inlineCluster, ask requestParts, send func(wire.Encoded) error,
) error {
	timing := s.startTimer("PlaceStream")
	if in.GetPlace() == nil {
		return decode.Refuse("", stowagev1.ViolationReason_VIOLATION_REASON_REQUIRED, "is required")
	}
	place := in.GetPlace()
	if err := turn.reads(s, place, inline, ask.bytes); err != nil {
		return err
	}
	r, snapshot, err := s.decodeCluster(turn, place, inline, ask.pods)
	if err != nil {
		return err
	}
	ctx := turn.ctx
	if snapshot != nil {
		defer s.snapshots.Recount(caller.Tenant(ctx), snapshot)
	}
	r.Ask(ask.pods)
	call := r.Place(place)
	if err := r.Err(); err != nil {
		return err
	}
	turn.leavePlace()
	timing.decodeDone()
	cluster := r.Cluster()
	timing.compileDone()
	if err := turn.begin(placeWork(cluster, call)); err != nil {
		return err
	}
	timing.lap()
	ctx = turn.ctx
	sending := func(part *stowagev1.PlaceStreamResponse) error {
		encoded, err := proto.Marshal(part) // with a seat, as gRPC would do it without
		if err != nil {
			return err
		}
		return turn.blocking(func() error { return send(encoded) })
	}
	var names encode.Names
	if place.GetContext().GetIncludeNodeNames() {
		names = cluster.Names()
	}
	parts := encode.NewPlaceStream(in, call.Queue, call.Options.Groups, names, sending)
	call.Options.Watch = parts
	result, err := decidePlace(ctx, cluster, call)
	if err != nil {
		return err
	}
	timing.engineDone()
	if err := parts.End(result, cluster.Address); err != nil {
		return err
	}
	placed, scanned := countPlaced(result)
	timing.encodeDone(ctx, cluster.Len(), placed, scanned)
	return nil
}

// prefixField prefixes the field paths of a decoding error.
func prefixField(field string, err error) error {
	var invalid *decode.Error
	if !errors.As(err, &invalid) {
		return err
	}
	return invalid.Within(field)
}

// Time reserved for the response of a call that allows a partial result: a fraction of the time left, within bounds.
const (
	reservedFraction = 5 // divides the time left
	minReserved      = time.Millisecond
	maxReserved      = time.Second
)

// untilReserved returns a context whose deadline is early enough to send a response before the deadline of ctx.
func untilReserved(ctx context.Context) (context.Context, context.CancelFunc) {
	deadline, ok := ctx.Deadline()
	if !ok {
		return ctx, func() {}
	}
	reserved := min(max(time.Until(deadline)/reservedFraction, minReserved), maxReserved)
	return context.WithDeadline(ctx, deadline.Add(-reserved))
}

// beforeDeadline is untilReserved for the rest of a request.
func beforeDeadline(ctx context.Context) (context.Context, context.CancelFunc) {
	early, cancel := untilReserved(ctx)
	return admission.Until(early), cancel
}
