package scenarios_test

import (
	"context"

	"github.com/stowage-scheduler/stowage/clients/scenarios"
	"github.com/stowage-scheduler/stowage/engine"
	"github.com/stowage-scheduler/stowage/engine/api"
	"github.com/stowage-scheduler/stowage/server/decode"
	"github.com/stowage-scheduler/stowage/server/encode"
)

// inEngine answers questions without gRPC. The cluster's names stand in for include_node_names, which every question
// asks for.
func inEngine(ctx context.Context, q *scenarios.Question) (*scenarios.Answer, error) {
	compile := func(c *api.Cluster) (*engine.Cluster, encode.Names, error) {
		compiled, err := engine.Compile(ctx, c)
		return compiled, encode.Names(c.Nodes), err
	}
	switch {
	case q.Filter != nil:
		call, err := decode.Filter(q.Filter)
		if err != nil {
			return nil, err
		}
		cluster, names, err := compile(call.Cluster)
		if err != nil {
			return nil, err
		}
		v, err := cluster.Filter(ctx, call.Pod, call.Options)
		if err != nil {
			return nil, err
		}
		return &scenarios.Answer{Filter: encode.Filter(v, names)}, nil
	case q.Score != nil:
		call, err := decode.Score(q.Score)
		if err != nil {
			return nil, err
		}
		cluster, names, err := compile(call.Cluster)
		if err != nil {
			return nil, err
		}
		v, err := cluster.Score(ctx, call.Pod, call.Options)
		if err != nil {
			return nil, err
		}
		return &scenarios.Answer{Score: encode.Score(v, names)}, nil
	}
	call, err := decode.Place(q.Place)
	if err != nil {
		return nil, err
	}
	cluster, names, err := compile(call.Cluster)
	if err != nil {
		return nil, err
	}
	v, err := cluster.Place(ctx, call.Queue, call.Options)
	if err != nil {
		return nil, err
	}
	return &scenarios.Answer{Place: encode.Place(v, names)}, nil
}
