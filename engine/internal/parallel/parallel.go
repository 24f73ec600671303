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
	// Unordered uses results in the order of completion.
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
	used     chan<- struct{} // signalled when the result was used; nil for none
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
		return sequential(ctx, n, compute, use)
	}
	outer := ctx
	ctx, cancel := context.WithCancel(outer)
	ctx = polling{ctx, outer}
	ended := make(chan struct{}, workers)
	defer func() {
		cancel()
		for range workers {
			<-ended
		}
	}()

	f := newFlight(n, workers, &o)
	for range workers {
		go func() {
			defer func() { ended <- struct{}{} }()
			f.work(ctx, compute)
		}()
	}
	return f.land(ctx, use)
}

// flight is the computations that are begun, and whose results are not used. A worker takes room before an index, and room is made
// when a result was used. The indexes in flight are therefore consecutive, at most one a slot, and a slot is empty when its next
// result comes.
type flight[T any] struct {
	n     int
	large func(T) bool // Options.Large
	next  atomic.Int64 // index
	room  chan struct{}
	slots []chan result[T]
}

func newFlight[T any](n, workers int, o *Options[T]) *flight[T] {
	f := &flight[T]{n: n, large: o.Large, room: make(chan struct{}, ahead*workers)}
	if o.Unordered {
		f.slots = []chan result[T]{make(chan result[T], ahead*workers)}
		return f
	}
	f.slots = make([]chan result[T], ahead*workers)
	for i := range f.slots {
		f.slots[i] = make(chan result[T], 1)
	}
	return f
}

// work computes values on the goroutine of a worker, until all are computed or the context ends.
func (f *flight[T]) work(ctx context.Context, compute func(context.Context, int) (T, error)) {
	used := make(chan struct{}, 1)
	for {
		select {
		case f.room <- struct{}{}:
		case <-ctx.Done():
			return
		}
		i := int(f.next.Add(1)) - 1
		if i >= f.n {
			return
		}
		r := result[T]{index: i}
		r.panicked = guarded(func() { r.value, r.err = compute(ctx, i) })
		large := r.panicked == nil && r.err == nil && f.large != nil && f.large(r.value)
		if large {
			r.used = used
		}
		f.slots[i%len(f.slots)] <- r
		if !large {
			continue
		}
		select {
		case <-used:
		case <-ctx.Done():
			return
		}
	}
}

// land uses all results on the goroutine of the caller. It panics as a computation did.
func (f *flight[T]) land(ctx context.Context, use func(int, T) error) error {
	for i := range f.n {
		var r result[T]
		select {
		case r = <-f.slots[i%len(f.slots)]:
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
		<-f.room
	}
	return nil
}

// polling is a context that also polls its parent, because a caller's context may yield to other goroutines when polled.
type polling struct {
	context.Context
	outer context.Context
}

func (a polling) Err() error {
	if err := a.Context.Err(); err != nil {
		return err
	}
	return a.outer.Err()
}

// sequential is Each on the goroutine of the caller.
func sequential[T any](
	ctx context.Context, n int, compute func(context.Context, int) (T, error), use func(int, T) error,
) error {
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
