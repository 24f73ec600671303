package placement

import (
	"context"

	"google.golang.org/grpc"

	"github.com/stowage-scheduler/stowage/engine"
	"github.com/stowage-scheduler/stowage/engine/verdict"
	stowagev1 "github.com/stowage-scheduler/stowage/proto/stowage/v1"
	"github.com/stowage-scheduler/stowage/server/decode"
	"github.com/stowage-scheduler/stowage/server/encode"
)

var drain = streamed[*stowagev1.DrainRequest, engine.DrainOptions]{
	name:      "Drain",
	unmarshal: unmarshalWhole[*stowagev1.DrainRequest],
	read:      (*decode.Request).Drain,
	class:     ofDrain,
	work:      drainWork,
	serve:     serveDrain,
}

// Drain reports where the pods of drained nodes would run.
func (s *Service) Drain(in *stowagev1.DrainRequest, stream grpc.ServerStreamingServer[stowagev1.DrainResponse]) error {
	cluster := fromMessage(in.GetContext().GetCluster())
	t := s.turn(stream.Context(), drain.class)
	defer t.end()
	return statusOf(respondInParts(s, &drain, t, s.startTimer(drain.name), in, cluster, requestParts{}, inMessages(stream)))
}

func serveDrain(ctx context.Context, to *answering, o engine.DrainOptions) (placed int, err error) {
	if pods := to.cluster.DrainPods(&o); pods > engine.MaxDrainPods {
		return 0, decode.Refuse("nodes", stowagev1.ViolationReason_VIOLATION_REASON_WRONG_COUNT,
			"have %d pods, and at most %d are drained at once", pods, engine.MaxDrainPods)
	}
	sum, err := to.cluster.Drain(ctx, o, func(d *verdict.Drain) error {
		placed += d.Placed
		part, err := encode.Drain(d, to.names)
		if err != nil {
			return err
		}
		return to.send(part)
	})
	if err != nil {
		return placed, err
	}
	part, err := encode.DrainSummary(sum, to.cluster.Address)
	if err != nil {
		return placed, err
	}
	return placed, to.send(part)
}
