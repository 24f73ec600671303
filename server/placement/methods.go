package placement

import (
	"context"

	"github.com/stowage-scheduler/stowage/engine"
	"github.com/stowage-scheduler/stowage/engine/verdict"
	stowagev1 "github.com/stowage-scheduler/stowage/proto/stowage/v1"
	"github.com/stowage-scheduler/stowage/server/decode"
	"github.com/stowage-scheduler/stowage/server/encode"
)

// method is how requests M become calls C of the engine, and these results R.
type method[M request, C, R any] struct {
	name string
	// unmarshal decodes an encoded request without its cluster. Pods are read apart; the message has of them only what the
	// answer repeats.
	unmarshal func([]byte, M) (*decode.Asked, error)
	// remembers is whether answers are remembered.
	remembers bool
	// key tells requests about a snapshot that have the same answer; empty for answers that are not remembered.
	key    func(M, *decode.Asked) string
	read   func(*decode.Request, M) C
	decide func(context.Context, *decode.Cluster, C) (R, error)
	// count counts the nodes that can take the pod, or the pods that got a node; and those of them that were scanned for.
	count  func(R) (feasible, scanned int)
	encode func(M, R, encode.Names, string) ([]byte, error)
}

var filter = method[*stowagev1.FilterRequest, decode.FilterCall, *verdict.Filter]{
	name:      "Filter",
	unmarshal: unmarshalAsking[*stowagev1.FilterRequest],
	remembers: true,
	key:       decode.FilterKey,
	read:      (*decode.Request).Filter,
	decide: func(ctx context.Context, c *decode.Cluster, call decode.FilterCall) (*verdict.Filter, error) {
		return c.Filter(ctx, call.Pod, call.Options)
	},
	count:  func(f *verdict.Filter) (int, int) { return len(f.Feasible), 0 },
	encode: encode.Filter,
}

func unmarshalAsking[M request](encoded []byte, into M) (*decode.Asked, error) {
	return decode.ReadAsked(encoded, into)
}

var score = method[*stowagev1.ScoreRequest, decode.ScoreCall, *verdict.Score]{
	name:      "Score",
	unmarshal: unmarshalAsking[*stowagev1.ScoreRequest],
	remembers: true,
	key:       decode.ScoreKey,
	read:      (*decode.Request).Score,
	decide: func(ctx context.Context, c *decode.Cluster, call decode.ScoreCall) (*verdict.Score, error) {
		return c.Score(ctx, call.Pod, call.Options)
	},
	count:  func(s *verdict.Score) (int, int) { return len(s.Nodes), 0 },
	encode: encode.Score,
}

var place = method[*stowagev1.PlaceRequest, decode.PlaceCall, *verdict.Place]{
	name:      "Place",
	unmarshal: decode.ReadPlace,
	key:       func(*stowagev1.PlaceRequest, *decode.Asked) string { return "" },
	read:      (*decode.Request).Place,
	decide:    decidePlace,
	count:     placedOf,
	encode:    encode.Place,
}

func decidePlace(ctx context.Context, c *decode.Cluster, call decode.PlaceCall) (*verdict.Place, error) {
	if call.Options.Partial {
		var cancel context.CancelFunc
		ctx, cancel = beforeDeadline(ctx)
		defer cancel()
	}
	return c.Place(ctx, call.Queue, call.Options)
}

func placedOf(p *verdict.Place) (placed, scanned int) {
	for i := range p.Placements {
		placed += len(p.Placements[i].Nodes)
		scanned += p.Placements[i].Scanned
	}
	return placed, scanned
}

var scaleDown = method[*stowagev1.ScaleDownRequest, decode.ScaleDownCall, *verdict.ScaleDown]{
	name:      "ScaleDown",
	unmarshal: unmarshalAsking[*stowagev1.ScaleDownRequest],
	key:       func(*stowagev1.ScaleDownRequest, *decode.Asked) string { return "" },
	read:      (*decode.Request).ScaleDown,
	decide: func(ctx context.Context, c *decode.Cluster, call decode.ScaleDownCall) (*verdict.ScaleDown, error) {
		d, err := c.ScaleDown(ctx, call.Pod, call.Options)
		if err == nil && d.Replicas-call.Options.Replicas > engine.MaxDeletions {
			err = decode.Refuse("replicas", "is %d, but there are %d, and at most %d are deleted at once",
				call.Options.Replicas, d.Replicas, engine.MaxDeletions)
		}
		return d, err
	},
	count:  func(d *verdict.ScaleDown) (int, int) { return len(d.Remaining), 0 },
	encode: encode.ScaleDown,
}
