package conformance

import (
	"context"
	"errors"
	"io"

	"google.golang.org/protobuf/proto"

	stowagev1 "github.com/stowage-scheduler/stowage/proto/stowage/v1"
)

// Drain calls a service in this process, if it is one that simulates.
func (d direct) Drain(ctx context.Context, r *stowagev1.DrainRequest) ([]*stowagev1.DrainResponse, error) {
	to := &responses[stowagev1.DrainResponse]{ctx: ctx}
	err := d.simulation().Drain(r, to)
	return to.all, err
}

// Drain receives all answers.
func (r remote) Drain(ctx context.Context, in *stowagev1.DrainRequest) ([]*stowagev1.DrainResponse, error) {
	stream, err := r.simulation.Drain(ctx, in)
	if err != nil {
		return nil, err
	}
	return received(stream.Recv)
}

// received returns all responses of a stream.
func received[R any](next func() (*R, error)) (all []*R, err error) {
	for {
		one, err := next()
		if errors.Is(err, io.EOF) {
			return all, nil
		}
		if err != nil {
			return all, err
		}
		all = append(all, one)
	}
}

// DifferDrain compares outcomes of a drain: what follows from the earliest decisions first.
func DifferDrain(want, got *stowagev1.NodeDrain) []Difference {
	return first(
		differ("drain nodes", want.GetNodes(), got.GetNodes()),
		differ("drain moves", want.GetMoves(), got.GetMoves()),
		differ("drain unplaced", want.GetUnplaced(), got.GetUnplaced()),
		differ("drain blocked", want.GetBlocked(), got.GetBlocked()),
		differ("drain preempted", want.GetPreempted(), got.GetPreempted()),
		differ("drain round_count", want.GetRoundCount(), got.GetRoundCount()),
		differ("drain status", want.GetStatus(), got.GetStatus()),
		differ("drain", decidedDrain(want), decidedDrain(got)),
	)
}

// decidedDrain returns a copy of the outcome without the doubts, which kube-scheduler has no counterpart of.
func decidedDrain(d *stowagev1.NodeDrain) *stowagev1.NodeDrain {
	out := proto.CloneOf(d)
	if out != nil {
		out.Doubts = nil
	}
	return out
}

// DifferDrained compares what summaries count.
func DifferDrained(want, got *stowagev1.DrainSummary) []Difference {
	return first(
		differ("drain drained_count", want.GetDrainedCount(), got.GetDrainedCount()),
		differ("drain total_count", want.GetTotalCount(), got.GetTotalCount()),
	)
}
