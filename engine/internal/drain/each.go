package drain

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"sync"
	"sync/atomic"

	"github.com/stowage-scheduler/stowage/engine/internal/cluster"
	"github.com/stowage-scheduler/stowage/engine/internal/decide"
	"github.com/stowage-scheduler/stowage/engine/verdict"
)

// window is the number of drains for each worker that may be done before an earlier one is.
const window = 16

// Each drains each node alone, and passes the outcomes to use in the order of the nodes. An error of use ends it.
func Each(
	ctx context.Context, f *decide.Framework, c *cluster.Cluster, o *Options, use func(*verdict.Drain) error,
) error {
	p, err := newPlan(ctx, f, c, o)
	if err != nil {
		return err
	}
	workers := max(1, min(o.Workers, len(o.Nodes)))
	called := ctx
	ctx, cancel := context.WithCancelCause(ctx)
	// A worker takes a free place before it takes a node. The drains that are not passed on yet are therefore consecutive, and
	// each has a slot of its own.
	free, slots := make(chan struct{}, workers*window), make([]chan *verdict.Drain, workers*window)
	for i := range slots {
		free <- struct{}{}
		slots[i] = make(chan *verdict.Drain, 1)
	}
	var next atomic.Int64
	work := func() {
		defer func() {
			if panicked := recover(); panicked != nil {
				cancel(&panicError{panicked, debug.Stack()})
			}
		}()
		d, err := p.newDrainer(ctx)
		for err == nil {
			select {
			case <-free:
			case <-ctx.Done():
				return
			}
			i := int(next.Add(1)) - 1
			if i >= len(o.Nodes) {
				return
			}
			before := d.point()
			var out *verdict.Drain
			if out, err = d.drain(o.Nodes[i:i+1:i+1], false); err == nil {
				d.undo(before)
				slots[i%len(slots)] <- out
			}
		}
		cancel(err)
	}
	var group sync.WaitGroup
	for range workers {
		group.Go(work)
	}
	for i := range o.Nodes {
		select {
		case out := <-slots[i%len(slots)]:
			if err := use(out); err != nil {
				cancel(err)
			}
			free <- struct{}{}
		case <-ctx.Done():
		}
		if ctx.Err() != nil {
			break
		}
	}
	ended := context.Cause(ctx)
	cancel(nil)
	group.Wait()
	if p, ok := errors.AsType[*panicError](context.Cause(ctx)); ok {
		panic(p)
	}
	if err := called.Err(); err != nil {
		return err
	}
	return ended
}

// panicError is a panic of a worker.
type panicError struct {
	value any
	stack []byte
}

func (p *panicError) Error() string { return fmt.Sprintf("%v\n%s", p.value, p.stack) }
