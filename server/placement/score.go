package placement

import (
	"context"

	"github.com/stowage-scheduler/stowage/engine"
	stowagev1 "github.com/stowage-scheduler/stowage/proto/stowage/v1"
	"github.com/stowage-scheduler/stowage/server/decode"
	"github.com/stowage-scheduler/stowage/server/encode"
	"github.com/stowage-scheduler/stowage/server/telemetry"
)

// Score tells how good each node that can take the pod is.
func (s *Service) Score(ctx context.Context, r *stowagev1.ScoreRequest) (*stowagev1.ScoreResponse, error) {
	watch, m := start(), telemetry.Decision{Method: "Score"}
	call, err := decode.Score(r)
	if err != nil {
		return nil, answerTo(err)
	}
	m.Decode = watch.lap()
	cluster, err := engine.Compile(ctx, call.Cluster)
	if err != nil {
		return nil, answerTo(err)
	}
	result, err := cluster.Score(ctx, call.Pod, call.Options)
	if err != nil {
		return nil, answerTo(err)
	}
	m.Engine = watch.lap()
	response := encode.Score(result, names(r.GetIncludeNodeNames(), call.Cluster), r.GetIncludePluginScores())
	m.Encode = watch.lap()
	m.Nodes, m.Feasible = len(call.Cluster.Nodes), len(result.Nodes)
	s.decisions.Record(ctx, m)
	return response, nil
}
