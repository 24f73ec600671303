// Package placement is the PlacementService: each RPC decodes its request, asks the engine and encodes the answer.
//
// The service remembers nothing and may be called concurrently. It judges nothing itself: package decode says what is
// wrong with a request, the engine decides.
package placement

import (
	"context"
	"errors"
	"time"

	"github.com/stowage-scheduler/stowage/engine/api"
	stowagev1 "github.com/stowage-scheduler/stowage/proto/stowage/v1"
	"github.com/stowage-scheduler/stowage/server/decode"
	"github.com/stowage-scheduler/stowage/server/encode"
	"github.com/stowage-scheduler/stowage/server/rpcerror"
	"github.com/stowage-scheduler/stowage/server/telemetry"
)

// Service implements stowagev1.PlacementServiceServer.
type Service struct {
	stowagev1.UnimplementedPlacementServiceServer
	decisions *telemetry.Decisions
}

// New returns a service that measures its decisions, unless decisions is nil.
func New(decisions *telemetry.Decisions) *Service { return &Service{decisions: decisions} }

// answerTo turns what decode or the engine failed with into the answer.
func answerTo(err error) error {
	var invalid *decode.Error
	switch {
	case errors.As(err, &invalid):
		return rpcerror.Invalid(invalid)
	case errors.Is(err, context.DeadlineExceeded), errors.Is(err, context.Canceled):
		return rpcerror.Cancelled(err)
	default:
		return rpcerror.Internal(err)
	}
}

// names are the nodes whose names the answer gives.
func names(wanted bool, c *api.Cluster) encode.Names {
	if !wanted {
		return nil
	}
	return c.Nodes
}

// stopwatch tells how long the parts of a decision take.
type stopwatch struct{ last time.Time }

func start() stopwatch { return stopwatch{time.Now()} }

// lap is the time since the last lap.
func (w *stopwatch) lap() time.Duration {
	now := time.Now()
	took := now.Sub(w.last)
	w.last = now
	return took
}
