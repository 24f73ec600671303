package placement

import (
	"context"

	"github.com/stowage-scheduler/stowage/engine/verdict"
	stowagev1 "github.com/stowage-scheduler/stowage/proto/stowage/v1"
	"github.com/stowage-scheduler/stowage/server/decode"
	"github.com/stowage-scheduler/stowage/server/encode"
	"github.com/stowage-scheduler/stowage/server/interceptor"
)

var provision = method[*stowagev1.ProvisionRequest, decode.ProvisionCall, *verdict.Provision]{
	name:      "Provision",
	unmarshal: unmarshalWhole[*stowagev1.ProvisionRequest],
	key:       uncached[*stowagev1.ProvisionRequest],
	read:      (*decode.Request).Provision,
	class:     ofProvision,
	work:      provisionWork,
	decide: func(ctx context.Context, c *decode.Snapshot, call decode.ProvisionCall) (*verdict.Provision, error) {
		if err := interceptor.Reserve(ctx, c.ProvisionBytes(call.Queue, &call.Options)/heapPerByte); err != nil {
			return nil, err
		}
		return c.Provision(ctx, call.Queue, call.Options)
	},
	count:  func(p *verdict.Provision) (placed, scanned int) { return countPlaced(&p.Place) },
	encode: encode.Provision,
}
