package placement

import (
	"context"
	"runtime"
	"sync/atomic"

	"google.golang.org/grpc"
	"google.golang.org/protobuf/proto"

	"github.com/stowage-scheduler/stowage/engine"
	stowagev1 "github.com/stowage-scheduler/stowage/proto/stowage/v1"
	"github.com/stowage-scheduler/stowage/server/decode"
	"github.com/stowage-scheduler/stowage/server/encode"
	"github.com/stowage-scheduler/stowage/server/interceptor"
	"github.com/stowage-scheduler/stowage/server/rpcerror"
	"github.com/stowage-scheduler/stowage/server/wire"
)

// WhatIf places a queue in each of a number of scenarios.
func (s *Service) WhatIf(in *stowagev1.WhatIfRequest, to grpc.ServerStreamingServer[stowagev1.WhatIfResponse]) error {
	return serveMessage(s, &whatIf, in, to)
}

// serveMessage serves a decoded request, for callers of the generated interface.
func serveMessage[T, R any, M interface {
	*T
	request
}, C any](s *Service, m *streamed[M, C], in M, to grpc.ServerStreamingServer[R]) error {
	encoded, err := proto.Marshal(in)
	if err != nil {
		return rpcerror.Internal(err)
	}
	rest := M(new(T))
	pods, err := m.unmarshal(encoded, rest)
	if err != nil {
		return statusOf(decodeError(err, decode.ErrNoMessage))
	}
	cluster, ask := fromMessage(in.GetContext().GetCluster()), requestParts{pods: pods, bytes: len(encoded)}
	t := s.turn(to.Context(), m.class)
	defer t.end()
	return statusOf(respondInParts(s, m, t, s.startTimer(m.name), rest, cluster, ask, inMessages(to)))
}

// inMessages sends the parts of an answer decoded, to callers of the generated interface.
func inMessages[R any](to grpc.ServerStreamingServer[R]) func(wire.Encoded) error {
	return func(part wire.Encoded) error {
		out := new(R)
		if err := proto.Unmarshal(part, any(out).(proto.Message)); err != nil {
			return rpcerror.Internal(err)
		}
		return to.Send(out)
	}
}

var whatIf = streamed[*stowagev1.WhatIfRequest, decode.WhatIfCall]{
	name:      "WhatIf",
	unmarshal: decode.ReadWhatIf,
	read:      (*decode.Request).WhatIf,
	class:     ofWhatIf,
	work:      whatIfWork,
	serve:     serveWhatIf,
}

// answer is an encoded answer.
type answer struct {
	encoded wire.Encoded
	placed  int
}

// largeAnswer is the size from which on few answers are kept while they wait to be sent in order.
const largeAnswer = 1 << 20

// scenario decodes a scenario.
func (to *answering) scenario(call *decode.WhatIfCall, i int) (scenario *decode.StatedScenario, err error) {
	err = to.turn.inPlace(call.ScenarioBytes(i), func() error {
		scenario, err = call.Scenario(i)
		return err
	})
	return scenario, err
}

// serveWhatIf checks all scenarios and then answers each. It decodes a scenario again for its answer, so that only the scenarios in
// work take memory.
func serveWhatIf(ctx context.Context, to *answering, call decode.WhatIfCall) (placed int, err error) {
	room := reservation{workers: int64(min(runtime.GOMAXPROCS(0), call.Len()))}
	var sum scenarios
	removing := to.cluster.CopiedByChange(0, false, true)
	check := func(ctx context.Context, i int) (checked struct{}, err error) {
		scenario, err := to.scenario(&call, i)
		if err != nil {
			return checked, err
		}
		bytes := int64(0)
		if delta := scenario.GetDelta(); delta != nil {
			bytes = to.cluster.CopiedBy(delta)
		}
		switch {
		case len(scenario.GetRemovedNodes()) > 0:
			bytes += removing
		case len(scenario.GetEvictions()) > 0:
			bytes += to.cluster.CopiedByChange(len(scenario.GetEvictions()), false, false)
		}
		if err := room.atLeast(ctx, bytes/heapPerByte); err != nil {
			return checked, err
		}
		sum.add(scenario)
		return checked, scenario.Check(ctx, to.cluster)
	}
	checked := func(int, struct{}) error { return nil }
	if err := engine.InParallel(ctx, call.Len(), engine.ParallelOptions[struct{}]{}, check, checked); err != nil {
		return 0, err
	}
	if err := to.turn.begin(sum.work(to.cluster, call.Len())); err != nil {
		return 0, err
	}
	compute := func(ctx context.Context, i int) (answer, error) {
		scenario, err := to.scenario(&call, i)
		if err != nil {
			return answer{}, err
		}
		cluster, s, err := scenario.On(ctx, to.cluster)
		if err != nil {
			return answer{}, err
		}
		result, err := cluster.WhatIf(ctx, s, call.Options)
		if err != nil {
			return answer{}, err
		}
		var names encode.Names
		if to.named {
			names = cluster.Names()
		}
		encoded, err := encode.WhatIf(i, scenario.Scenario, result, names)
		placed, _ := countPlaced(&result.Place)
		return answer{encoded, placed}, err
	}
	send := func(_ int, a answer) error {
		placed += a.placed
		return to.send(a.encoded)
	}
	o := engine.ParallelOptions[answer]{
		Unordered: call.Unordered, Large: func(a answer) bool { return len(a.encoded) > largeAnswer },
	}
	err = engine.InParallel(ctx, call.Len(), o, compute, send)
	return placed, err
}

// reservation is memory that is charged to a call for each of its workers.
type reservation struct {
	workers int64
	each    atomic.Int64 // bytes
}

// atLeast raises the reservation of each worker to at least bytes.
func (r *reservation) atLeast(ctx context.Context, bytes int64) error {
	for {
		has := r.each.Load()
		if bytes <= has {
			return nil
		}
		if r.each.CompareAndSwap(has, bytes) {
			return interceptor.Reserve(ctx, r.workers*(bytes-has))
		}
	}
}
