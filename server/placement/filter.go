package placement

import (
	"context"

	"github.com/stowage-scheduler/stowage/engine"
	stowagev1 "github.com/stowage-scheduler/stowage/proto/stowage/v1"
	"github.com/stowage-scheduler/stowage/server/decode"
	"github.com/stowage-scheduler/stowage/server/encode"
	"github.com/stowage-scheduler/stowage/server/telemetry"
)

// Filter tells which nodes can take a pod, and why the others cannot.
func (s *Service) Filter(ctx context.Context, r *stowagev1.FilterRequest) (*stowagev1.FilterResponse, error) {
	watch, m := start(), telemetry.Decision{Method: "Filter"}
	call, err := decode.Filter(r)
	if err != nil {
		return nil, answerTo(err)
	}
	m.Decode = watch.lap()
	cluster, err := engine.Compile(ctx, call.Cluster)
	if err != nil {
		return nil, answerTo(err)
	}
	result, err := cluster.Filter(ctx, call.Pod, call.Options)
	if err != nil {
		return nil, answerTo(err)
	}
	m.Engine = watch.lap()
	response := encode.Filter(result, names(r.GetIncludeNodeNames(), call.Cluster))
	m.Encode = watch.lap()
	m.Nodes, m.Feasible = len(call.Cluster.Nodes), len(result.Feasible)
	s.decisions.Record(ctx, m)
	return response, nil
}
