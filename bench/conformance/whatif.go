package conformance

import (
	"context"

	"google.golang.org/grpc"
	"google.golang.org/protobuf/proto"

	stowagev1 "github.com/stowage-scheduler/stowage/proto/stowage/v1"
)

// Simulation answers WhatIf, in the order of the scenarios, Drain, Fit and Consolidate.
type Simulation interface {
	Fit(context.Context, *stowagev1.FitRequest) (*stowagev1.FitResponse, error)
	Consolidate(context.Context, *stowagev1.ConsolidateRequest) (*stowagev1.ConsolidateResponse, error)
	WhatIf(context.Context, *stowagev1.WhatIfRequest) ([]*stowagev1.WhatIfResponse, error)
	Drain(context.Context, *stowagev1.DrainRequest) ([]*stowagev1.DrainResponse, error)
}

// simulation returns a service in this process, if it is one that simulates.
func (d direct) simulation() stowagev1.SimulationServiceServer {
	service, ok := d.service.(stowagev1.SimulationServiceServer)
	if !ok {
		service = stowagev1.UnimplementedSimulationServiceServer{}
	}
	return service
}

func (d direct) WhatIf(ctx context.Context, r *stowagev1.WhatIfRequest) ([]*stowagev1.WhatIfResponse, error) {
	to := &responses[stowagev1.WhatIfResponse]{ctx: ctx}
	err := d.simulation().WhatIf(r, to)
	return to.all, err
}

func (d direct) Fit(ctx context.Context, r *stowagev1.FitRequest) (*stowagev1.FitResponse, error) {
	return d.simulation().Fit(ctx, r)
}

func (d direct) Consolidate(ctx context.Context, r *stowagev1.ConsolidateRequest) (*stowagev1.ConsolidateResponse, error) {
	return d.simulation().Consolidate(ctx, r)
}

// Fit calls a server.
func (r remote) Fit(ctx context.Context, in *stowagev1.FitRequest) (*stowagev1.FitResponse, error) {
	return r.simulation.Fit(ctx, in)
}

// Consolidate calls a server.
func (r remote) Consolidate(ctx context.Context, in *stowagev1.ConsolidateRequest) (*stowagev1.ConsolidateResponse, error) {
	return r.simulation.Consolidate(ctx, in)
}

// Remote calls a server, which answers WhatIf, too.
func Remote(conn grpc.ClientConnInterface) Service {
	return remote{stowagev1.NewPlacementServiceClient(conn), stowagev1.NewSimulationServiceClient(conn)}
}

type remote struct {
	stowagev1.PlacementServiceClient
	simulation stowagev1.SimulationServiceClient
}

// WhatIf receives all answers.
func (r remote) WhatIf(ctx context.Context, in *stowagev1.WhatIfRequest) ([]*stowagev1.WhatIfResponse, error) {
	stream, err := r.simulation.WhatIf(ctx, in)
	if err != nil {
		return nil, err
	}
	return received(stream.Recv)
}

// responses keeps the responses of a stream.
type responses[R any] struct {
	grpc.ServerStream
	ctx context.Context
	all []*R
}

// Context is of the interface.
func (r *responses[R]) Context() context.Context { return r.ctx }

// Send is of the interface.
func (r *responses[R]) Send(m *R) error {
	r.all = append(r.all, m)
	return nil
}

// DifferWhatIf compares answers for a scenario. Which templates pods have is Stowage's own.
func DifferWhatIf(want, got *stowagev1.WhatIfResponse, mode stowagev1.QueueMode) []Difference {
	requeued := func(r *stowagev1.WhatIfResponse) (out []*stowagev1.RequeuedPod) {
		for _, p := range r.Requeued {
			p = proto.CloneOf(p)
			withoutTemplate(p.Pod)
			out = append(out, p)
		}
		return out
	}
	unattempted := func(r *stowagev1.WhatIfResponse) (out []uint32) {
		for _, p := range r.Placement.GetPlacements() {
			out = append(out, p.UnattemptedCount)
		}
		return out
	}
	if d := first(
		differ("whatif scenario_index", want.ScenarioIndex, got.ScenarioIndex),
		differ("whatif name", want.Name, got.Name),
		differ("whatif requeued", requeued(want), requeued(got)),
	); d != nil {
		return d
	}
	differPlacement := differPlace
	if mode == stowagev1.QueueMode_QUEUE_MODE_KUBE_SCHEDULER {
		differPlacement = differQueue
	}
	d := first(
		differPlacement(want.Placement, got.Placement),
		differ("unattempted_count", unattempted(want), unattempted(got)),
		differ("stopped", want.Stopped, got.Stopped),
	)
	for i := range d {
		d[i].Kind = "whatif " + d[i].Kind
	}
	return d
}
