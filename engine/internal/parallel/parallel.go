// Package parallel runs independent computations on several goroutines, and uses their results on one, in order.
package parallel

import (
	"context"
	"fmt"
	"runtime"
	"runtime/debug"
	"sync/atomic"
)

// ahead is how many results of one worker may wait for their turn.
const ahead = 8

// Options are how computations run. No result depends on Workers.
type Options[T any] struct {
	// Workers is the number of goroutines, GOMAXPROCS if it is 0.
	Workers int
	// Unordered uses results as they are known.
	Unordered bool
	// Large reports whether a result is so large that its worker waits until it was used, so that few are kept; nil for none.
	Large func(T) bool
}

// result is what became of one computation.
type result[T any] struct {
	index    int
	value    T
	err      error
	panicked any
	used     chan<- struct{} // told when the result was used; nil for none
}

// Each computes n values and uses each of them, in ascending order of index unless it is Unordered. At most a bounded number of
// values is computed and not used. use is called by the goroutine of the caller. Each ends with the first error: of computations
// in the order of use, of use, or of the context. When it returns, nothing runs any more.
func Each[T any](
	ctx context.Context, n int, o Options[T], compute func(ctx context.Context, i int) (T, error), use func(i int, v T) error,
) error {
	workers := o.Workers
	if workers <= 0 {
		workers = runtime.GOMAXPROCS(0)
	}
	if workers = min(workers, n); workers <= 1 {
		return one(ctx, n, compute, use)
	}
	outer := ctx
	ctx, cancel := context.WithCancel(outer)
	ctx = asking{ctx, outer}
	ended := make(chan struct{}, workers)
	defer func() {
		cancel()
		for range workers {
			<-ended
		}
	}()

	// A worker takes room before an index, and room is made when a result was used. The indexes in flight are therefore
	// consecutive, at most one a slot, and a slot is empty when its next result comes.
	room := make(chan struct{}, ahead*workers)
	slots := make([]chan result[T], ahead*workers)
	for i := range slots {
		slots[i] = make(chan result[T], 1)
	}
	if o.Unordered {
		slots = []chan result[T]{make(chan result[T], ahead*workers)}
	}
	var next atomic.Int64
	for range workers {
		go func() {
			defer func() { ended <- struct{}{} }()
			used := make(chan struct{}, 1)
			for {
				select {
				case room <- struct{}{}:
				case <-ctx.Done():
					return
				}
				i := int(next.Add(1)) - 1
				if i >= n {
					return
				}
				r := result[T]{index: i}
				r.panicked = guarded(func() { r.value, r.err = compute(ctx, i) })
				large := r.panicked == nil && r.err == nil && o.Large != nil && o.Large(r.value)
				if large {
					r.used = used
				}
				slots[i%len(slots)] <- r
				if !large {
					continue
				}
				select {
				case <-used:
				case <-ctx.Done():
					return
				}
			}
		}()
	}
	for i := range n {
		var r result[T]
		select {
		case r = <-slots[i%len(slots)]:
		case <-ctx.Done():
			return ctx.Err()
		}
		if r.panicked != nil {
			panic(r.panicked)
		}
		if r.err != nil {
			return r.err
		}
		if err := use(r.index, r.value); err != nil {
			return err
		}
		if r.used != nil {
			r.used <- struct{}{}
		}
		<-room
	}
	return nil
}

// asking is a context that asks the one that it was derived from as well: a caller's context may let others have a turn then.
type asking struct {
	context.Context
	outer context.Context
}

func (a asking) Err() error {
	if err := a.Context.Err(); err != nil {
		return err
	}
	return a.outer.Err()
}

// one is Each on the goroutine of the caller.
func one[T any](ctx context.Context, n int, compute func(context.Context, int) (T, error), use func(int, T) error) error {
	for i := range n {
		if err := ctx.Err(); err != nil {
			return err
		}
		v, err := compute(ctx, i)
		if err != nil {
			return err
		}
		if err := use(i, v); err != nil {
			return err
		}
	}
	return nil
}

// guarded returns what f panics with and its stack, nil if it does not, so that the goroutine of the caller can panic with it.
func guarded(f func()) (panicked any) {
	defer func() {
		if p := recover(); p != nil {
			panicked = fmt.Errorf("%v\n%s", p, debug.Stack())
		}
	}()
	f()
	return nil
}
