package placement

import (
	"context"

	"github.com/stowage-scheduler/stowage/engine"
	"github.com/stowage-scheduler/stowage/engine/verdict"
	stowagev1 "github.com/stowage-scheduler/stowage/proto/stowage/v1"
	"github.com/stowage-scheduler/stowage/server/decode"
	"github.com/stowage-scheduler/stowage/server/encode"
	"github.com/stowage-scheduler/stowage/server/interceptor"
)

var consolidate = method[*stowagev1.ConsolidateRequest, engine.ConsolidateOptions, *verdict.Consolidation]{
	name:      "Consolidate",
	unmarshal: unmarshalWhole[*stowagev1.ConsolidateRequest],
	key:       uncached[*stowagev1.ConsolidateRequest],
	read:      (*decode.Request).Consolidate,
	class:     ofConsolidate,
	work:      consolidateWork,
	decide: func(ctx context.Context, c *decode.Snapshot, o engine.ConsolidateOptions) (*verdict.Consolidation, error) {
		if pods := c.ConsolidatedPods(&o); pods > engine.MaxDrainPods {
			return nil, decode.Refuse("candidates", stowagev1.ViolationReason_VIOLATION_REASON_WRONG_COUNT,
				"have %d pods, and at most %d are drained by one call", pods, engine.MaxDrainPods)
		}
		if err := interceptor.Reserve(ctx, c.ConsolidateBytes(&o)/heapPerByte); err != nil {
			return nil, err
		}
		if o.Partial {
			var cancel context.CancelFunc
			ctx, cancel = beforeDeadline(ctx)
			defer cancel()
		}
		return c.Consolidate(ctx, o)
	},
	count: func(v *verdict.Consolidation) (placed, scanned int) {
		for i := range v.Actions {
			placed += v.Actions[i].Drain.Placed
		}
		return placed, 0
	},
	encode: encode.Consolidate,
}
