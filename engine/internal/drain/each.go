package drain

import (
	"context"

	"github.com/stowage-scheduler/stowage/engine/internal/cluster"
	"github.com/stowage-scheduler/stowage/engine/internal/decide"
	"github.com/stowage-scheduler/stowage/engine/internal/parallel"
	"github.com/stowage-scheduler/stowage/engine/verdict"
)

// large is the number of pods of a drain from which on its worker waits until it was used.
const large = 100_000

// Each drains each node alone, and passes the outcomes to use in the order of the nodes. An error of use ends it.
func Each(
	ctx context.Context, f *decide.Framework, c *cluster.Cluster, o *Options, use func(*verdict.Drain) error,
) error {
	p, err := newPlan(ctx, f, c, o)
	if err != nil {
		return err
	}
	t := &Trials{plan: p, idle: make(chan *drainer, max(1, o.Workers))}
	compute := func(ctx context.Context, i int) (*verdict.Drain, error) {
		out, _, err := t.Drain(ctx, o.Nodes[i:i+1:i+1], false)
		return out, err
	}
	options := parallel.Options[*verdict.Drain]{
		Workers: o.Workers, Large: func(d *verdict.Drain) bool { return d.Evicted > large },
	}
	return parallel.Each(ctx, len(o.Nodes), options, compute, func(_ int, d *verdict.Drain) error { return use(d) })
}
