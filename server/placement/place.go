package placement

import (
	"context"

	"github.com/stowage-scheduler/stowage/engine"
	stowagev1 "github.com/stowage-scheduler/stowage/proto/stowage/v1"
	"github.com/stowage-scheduler/stowage/server/decode"
	"github.com/stowage-scheduler/stowage/server/encode"
	"github.com/stowage-scheduler/stowage/server/telemetry"
)

// Place decides where each pod of a queue goes.
func (s *Service) Place(ctx context.Context, r *stowagev1.PlaceRequest) (*stowagev1.PlaceResponse, error) {
	watch, m := start(), telemetry.Decision{Method: "Place"}
	call, err := decode.Place(r)
	if err != nil {
		return nil, answerTo(err)
	}
	m.Decode = watch.lap()
	cluster, err := engine.Compile(ctx, call.Cluster)
	if err != nil {
		return nil, answerTo(err)
	}
	result, err := cluster.Place(ctx, call.Queue, call.Options)
	if err != nil {
		return nil, answerTo(err)
	}
	m.Engine = watch.lap()
	response := encode.Place(result, names(r.GetIncludeNodeNames(), call.Cluster))
	m.Encode = watch.lap()
	m.Nodes, m.Feasible = len(call.Cluster.Nodes), int(response.GetPlacedCount())
	s.decisions.Record(ctx, m)
	return response, nil
}
