package placement

import (
	"context"
	"errors"
	"time"

	"google.golang.org/grpc"

	stowagev1 "github.com/stowage-scheduler/stowage/proto/stowage/v1"
	"github.com/stowage-scheduler/stowage/server/decode"
	"github.com/stowage-scheduler/stowage/server/encode"
	"github.com/stowage-scheduler/stowage/server/wire"
)

// placeStreamOn is PlaceStream, whose request is still to be received.
func (s *Service) placeStreamOn(stream grpc.ServerStream) error {
	m := new(stowagev1.PlaceStreamRequest)
	in := wire.NewRequest(m, placeField, contextField, clusterField)
	var pods *decode.Asked
	in.Read = func(rest []byte) (err error) {
		pods, err = decode.ReadPlaceStream(rest, m)
		return err
	}
	if err := stream.RecvMsg(in); err != nil {
		return err
	}
	defer in.Free()
	if in.Err() != nil {
		return answerTo(refusal(in.Err(), decode.ErrNoMessage))
	}
	send := func(part *stowagev1.PlaceStreamResponse) error { return stream.SendMsg(part) }
	return s.inParts(stream.Context(), m, inFrames(in), pods, send)
}

// PlaceStream decides where the pods of a queue go, and tells while it does.
func (s *Service) PlaceStream(in *stowagev1.PlaceStreamRequest, stream grpc.ServerStreamingServer[stowagev1.PlaceStreamResponse]) error {
	cluster := stated(in.GetPlace().GetContext().GetCluster())
	return s.inParts(stream.Context(), in, cluster, nil, stream.Send)
}

func (s *Service) inParts(
	ctx context.Context, in *stowagev1.PlaceStreamRequest, inline inline, pods *decode.Asked,
	send func(*stowagev1.PlaceStreamResponse) error,
) error {
	if in.PodsPerMessage != nil && in.GetPodsPerMessage() == 0 {
		return answerTo(decode.Refuse("pods_per_message", "is 0, at least 1 is required"))
	}
	return answerTo(within("place", s.placeStream(ctx, in, inline, pods, send)))
}

func (s *Service) placeStream(
	ctx context.Context, in *stowagev1.PlaceStreamRequest, inline inline, pods *decode.Asked,
	send func(*stowagev1.PlaceStreamResponse) error,
) error {
	clock := s.begin("PlaceStream")
	if in.GetPlace() == nil {
		return decode.Refuse("", "is required")
	}
	place := in.GetPlace()
	r, snapshot, err := s.begun(ctx, place, inline)
	if err != nil {
		return err
	}
	if snapshot != nil {
		defer s.snapshots.Count(snapshot)
	}
	r.Ask(pods)
	call := r.Place(place)
	if err := r.Err(); err != nil {
		return err
	}
	cluster := r.Cluster()
	clock.decoded()
	var names encode.Names
	if place.GetContext().GetIncludeNodeNames() {
		names = cluster.Names()
	}
	parts := encode.NewPlaceStream(in, call.Queue, call.Options.Groups, names, send)
	call.Options.Watch = parts
	result, err := decidePlace(ctx, cluster, call)
	if err != nil {
		return err
	}
	clock.decided()
	if err := parts.End(result, cluster.Address); err != nil {
		return err
	}
	placed, scanned := placedOf(result)
	clock.end(ctx, cluster.Len(), placed, scanned)
	return nil
}

// within puts the name of a field before those that an error is about.
func within(field string, err error) error {
	var invalid *decode.Error
	if !errors.As(err, &invalid) {
		return err
	}
	return invalid.Within(field)
}

// Of the time that is left to a call that asks for a partial answer, the part that is kept for the answer.
const (
	answerShare = 5 // one part in so many
	leastAnswer = time.Millisecond
	mostAnswer  = time.Second
)

// beforeDeadline returns a context that ends so long before ctx that there is time for an answer.
func beforeDeadline(ctx context.Context) (context.Context, context.CancelFunc) {
	deadline, ok := ctx.Deadline()
	if !ok {
		return ctx, func() {}
	}
	reserve := min(max(time.Until(deadline)/answerShare, leastAnswer), mostAnswer)
	return context.WithDeadline(ctx, deadline.Add(-reserve))
}
