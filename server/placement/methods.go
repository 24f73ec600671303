package placement

import (
	"context"

	"github.com/stowage-scheduler/stowage/engine"
	"github.com/stowage-scheduler/stowage/engine/verdict"
	stowagev1 "github.com/stowage-scheduler/stowage/proto/stowage/v1"
	"github.com/stowage-scheduler/stowage/server/admission"
	"github.com/stowage-scheduler/stowage/server/decode"
	"github.com/stowage-scheduler/stowage/server/encode"
	"github.com/stowage-scheduler/stowage/server/wire"
	"github.com/stowage-scheduler/stowage/server/work"
)

// method describes an RPC: requests M become engine calls C with results R.
type method[M request, C, R any] struct {
	name string
	// unmarshal decodes an encoded request without its cluster. It returns the pods separately; of them the message keeps
	// only the fields that the response repeats.
	unmarshal func([]byte, M) (*decode.RequestPods, error)
	// cached enables the response cache.
	cached bool
	// key returns the cache key of a request within its snapshot; equal keys imply equal responses. Empty means not cached.
	key  func(M, *decode.RequestPods) string
	read func(*decode.Request, M) C
	// work returns the size of the work of a call, and the number of processors that it keeps busy.
	work   func(*decode.Snapshot, C) (work.Size, int)
	class  admission.Class
	decide func(context.Context, *decode.Snapshot, C) (R, error)
	// lend gives a call memory for its result, which is free again once the result is encoded; nil for calls that use none.
	lend func(*C, *engine.Memory)
	// count returns the feasible nodes or the placed pods, and the pods placed by scanning all nodes, for metrics.
	count  func(R) (feasible, scanned int)
	encode func(M, R, encode.Names, string) ([]byte, error)
}

// streamed describes an RPC that answers one request with a stream: requests M become calls C.
type streamed[M request, C any] struct {
	name string
	// unmarshal decodes an encoded request without its cluster. What it returns separately, the message lacks.
	unmarshal func([]byte, M) (*decode.RequestPods, error)
	read      func(*decode.Request, M) C
	// work and class are as in method.
	work  func(*decode.Snapshot, C) (work.Size, int)
	class admission.Class
	// serve decides and sends the responses. It returns the number of placed pods, for metrics. Errors of sending end it.
	serve func(context.Context, *answering, C) (placed int, err error)
}

// answering is the destination of the responses to a request, and the cluster that they are about.
type answering struct {
	cluster *decode.Snapshot
	named   bool         // whether the request includes names
	names   encode.Names // nil if it does not
	send    func(wire.Encoded) error
	turn    *turn
}

// unmarshalWhole decodes a request that has no part to decode separately.
func unmarshalWhole[M request](encoded []byte, into M) (*decode.RequestPods, error) {
	return nil, decode.Unmarshal(encoded, into)
}

var filter = method[*stowagev1.FilterRequest, decode.FilterCall, *verdict.Filter]{
	name:      "Filter",
	unmarshal: unmarshalPod[*stowagev1.FilterRequest],
	cached:    true,
	key:       decode.FilterKey,
	class:     ofFilter,
	work:      filterWork,
	read:      (*decode.Request).Filter,
	decide: func(ctx context.Context, c *decode.Snapshot, call decode.FilterCall) (*verdict.Filter, error) {
		return c.Filter(ctx, call.Pod, call.Options)
	},
	lend:   func(call *decode.FilterCall, m *engine.Memory) { call.Options.Memory = m },
	count:  func(f *verdict.Filter) (int, int) { return len(f.Feasible), 0 },
	encode: encode.Filter,
}

// unmarshalPod instantiates decode.ReadRequestPods for a method's request type.
func unmarshalPod[M request](encoded []byte, into M) (*decode.RequestPods, error) {
	return decode.ReadRequestPods(encoded, into)
}

var score = method[*stowagev1.ScoreRequest, decode.ScoreCall, *verdict.Score]{
	name:      "Score",
	unmarshal: unmarshalPod[*stowagev1.ScoreRequest],
	cached:    true,
	key:       decode.ScoreKey,
	class:     ofScore,
	work:      scoreWork,
	read:      (*decode.Request).Score,
	decide: func(ctx context.Context, c *decode.Snapshot, call decode.ScoreCall) (*verdict.Score, error) {
		return c.Score(ctx, call.Pod, call.Options)
	},
	lend:   func(call *decode.ScoreCall, m *engine.Memory) { call.Options.Memory = m },
	count:  func(s *verdict.Score) (int, int) { return len(s.Nodes), 0 },
	encode: encode.Score,
}

var preempt = method[*stowagev1.PreemptRequest, decode.FilterCall, *verdict.Filter]{
	name:      "Preempt",
	unmarshal: unmarshalPod[*stowagev1.PreemptRequest],
	cached:    true,
	key:       decode.PreemptKey,
	class:     ofPreempt,
	work:      filterWork,
	read:      (*decode.Request).Preempt,
	decide:    filter.decide,
	lend:      filter.lend,
	count:     filter.count,
	encode:    encode.Preempt,
}

var place = method[*stowagev1.PlaceRequest, decode.PlaceCall, *verdict.Place]{
	name:      "Place",
	unmarshal: decode.ReadPlace,
	key:       uncached[*stowagev1.PlaceRequest],
	class:     ofPlace,
	work:      placeWork,
	read:      (*decode.Request).Place,
	decide:    decidePlace,
	count:     countPlaced,
	encode:    encode.Place,
}

func uncached[M request](M, *decode.RequestPods) string { return "" }

func decidePlace(ctx context.Context, c *decode.Snapshot, call decode.PlaceCall) (*verdict.Place, error) {
	if call.Options.Partial {
		var cancel context.CancelFunc
		ctx, cancel = beforeDeadline(ctx)
		defer cancel()
	}
	return c.Place(ctx, call.Queue, call.Options)
}

func countPlaced(p *verdict.Place) (placed, scanned int) {
	for i := range p.Placements {
		placed += len(p.Placements[i].Nodes)
		scanned += p.Placements[i].Scanned
	}
	return placed, scanned
}

var scaleDown = method[*stowagev1.ScaleDownRequest, decode.ScaleDownCall, *verdict.ScaleDown]{
	name:      "ScaleDown",
	unmarshal: unmarshalPod[*stowagev1.ScaleDownRequest],
	key:       uncached[*stowagev1.ScaleDownRequest],
	class:     ofScaleDown,
	work:      scaleDownWork,
	read:      (*decode.Request).ScaleDown,
	decide: func(ctx context.Context, c *decode.Snapshot, call decode.ScaleDownCall) (*verdict.ScaleDown, error) {
		d, err := c.ScaleDown(ctx, call.Pod, call.Options)
		if err == nil && d.Replicas-call.Options.Replicas > engine.MaxDeletions {
			err = decode.Refuse("replicas", stowagev1.ViolationReason_VIOLATION_REASON_WRONG_COUNT, "is %d, but there are %d, and at most %d are deleted at once",
				call.Options.Replicas, d.Replicas, engine.MaxDeletions)
		}
		return d, err
	},
	count:  func(d *verdict.ScaleDown) (int, int) { return len(d.Remaining), 0 },
	encode: encode.ScaleDown,
}

var fit = method[*stowagev1.FitRequest, decode.FitCall, *verdict.Fit]{
	name:      "Fit",
	unmarshal: unmarshalWhole[*stowagev1.FitRequest],
	key:       uncached[*stowagev1.FitRequest],
	class:     ofFit,
	work:      fitWork,
	read:      (*decode.Request).Fit,
	decide: func(ctx context.Context, c *decode.Snapshot, call decode.FitCall) (*verdict.Fit, error) {
		if err := decode.FitDomains(c.FitDomains(ctx, call.Options)); err != nil {
			return nil, err
		}
		return c.Fit(ctx, call.Mix, call.Options)
	},
	count:  countFit,
	encode: encode.Fit,
}

// countFit returns the number of pods of the units that fit.
func countFit(f *verdict.Fit) (placed, scanned int) {
	for i := range f.Pods {
		for _, pods := range f.Pods[i].Counts {
			placed += int(pods)
		}
	}
	return placed, 0
}
