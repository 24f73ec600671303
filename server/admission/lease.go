package admission

import (
	"context"
	"runtime"
	"sync/atomic"
	"time"
)

const (
	// slice is how long a request keeps its seat while others wait. longest replaces it for work that is expected to end by then.
	slice   = 5 * time.Millisecond
	longest = 2 * slice
	// pace is the interval between readings of the clock. After maxStride calls of Err the clock is read in any case.
	pace, maxStride = 200 * time.Microsecond, 16
	// yield is how often other goroutines of the process run, so that refusals are sent.
	yield = 500 * time.Microsecond
)

// The states of a lease.
const (
	held uint32 = iota
	// given: another goroutine waits for something else than a seat, and has given it back meanwhile.
	given
	// turning: the seat was given back at the end of a slice.
	turning
	released
)

// Lease is a request's right to compute. Its methods but Release may be called by several goroutines; on nil they do nothing.
type Lease struct {
	limiter  *Limiter
	ctx      context.Context
	early    <-chan struct{} // when a partial answer has to be sent, nil if none is allowed
	class    Class
	estimate time.Duration
	width    int64 // goroutines that compute
	began    time.Time

	state atomic.Uint32
	since atomic.Int64 // beginning of the slice
	used  atomic.Int64 // before the slice
	idle  atomic.Int64 // of used and of the slice, waiting for something else than a processor
	// turn is closed when the seat has been taken again.
	turn atomic.Pointer[chan struct{}]

	// left is the number of calls of Err before the next reading of the clock, stride the number between two readings.
	left, stride atomic.Int32
	looked       atomic.Int64
	yielded      atomic.Int64

	queue   *queue // nil until the request waited
	charged time.Duration
}

// Expect replaces the estimate of the request's whole work, by width goroutines. If others wait, it fails with a *Refusal when the
// request could not be answered in time. It must not be called concurrently.
func (l *Lease) Expect(estimate time.Duration, width int) error {
	if l == nil {
		return nil
	}
	l.estimate, l.width = max(l.estimate, estimate), int64(max(width, 1))
	if !l.limiter.contended() {
		return nil
	}
	return l.limiter.queues.reconsider(l)
}

// Context returns a context whose Err gives the seat back at the end of a slice, and returns when the request has one again.
// Contexts that are derived from it by package context do not; Within is for them.
func (l *Lease) Context(ctx context.Context) context.Context {
	if l == nil {
		return ctx
	}
	return &leased{ctx, l}
}

type leased struct {
	context.Context
	lease *Lease
}

func (c *leased) Err() error {
	c.lease.look()
	return c.Context.Err()
}

type leaseKey struct{}

func (c *leased) Value(key any) any {
	if key == (leaseKey{}) {
		return c.lease
	}
	return c.Context.Value(key)
}

// Until is Within for a context that ends before the request does, and then leaves time to answer: from then on the request waits
// for no turn. Nothing may use the lease concurrently.
func Until(early context.Context) context.Context {
	l, _ := early.Value(leaseKey{}).(*Lease)
	l.Until(early)
	return l.Context(early)
}

// Until has the request wait for no turn once a context is done that ends before the request does. Nothing may use the lease concurrently.
func (l *Lease) Until(early context.Context) {
	if l != nil {
		l.early = early.Done()
	}
}

// ends is closed when the request no longer waits for turns.
func (l *Lease) ends() <-chan struct{} {
	if l.early != nil {
		return l.early
	}
	return l.ctx.Done()
}

// Within returns inner, which was derived from a context of Lease.Context, as such a context.
func Within(inner context.Context) context.Context {
	l, _ := inner.Value(leaseKey{}).(*Lease)
	return l.Context(inner)
}

// ended reports whether the request no longer waits for turns.
func (l *Lease) ended() bool {
	select {
	case <-l.ends():
		return true
	default:
		return false
	}
}

// look reads the clock once in a while.
func (l *Lease) look() {
	if turn := l.turn.Load(); turn != nil {
		l.await(*turn)
		return
	}
	if l.left.Add(-1) > 0 {
		return
	}
	now := time.Now().UnixNano()
	stride := l.stride.Load()
	switch elapsed := time.Duration(now - l.looked.Swap(now)); {
	case elapsed < pace/2:
		stride = min(2*stride+1, maxStride)
	case elapsed > pace:
		stride /= 4
	}
	l.stride.Store(stride)
	l.left.Store(max(stride, 1))
	if time.Duration(now-l.yielded.Load()) > yield {
		runtime.Gosched()
		now = time.Now().UnixNano()
		l.looked.Store(now)
		l.yielded.Store(now)
	}
	if since := time.Duration(now - l.since.Load()); since >= slice && since >= l.keeps() && l.limiter.contended() {
		l.takeTurns()
	}
}

// keeps is how long the lease keeps its seat while others wait. Work that would end in a second slice is not interrupted before it.
func (l *Lease) keeps() time.Duration {
	if rest := l.limiter.rest(l); rest > 0 && rest <= longest {
		return longest
	}
	return slice
}

// await waits until the lease has a seat again, or the request ended.
func (l *Lease) await(turn chan struct{}) {
	select {
	case <-turn:
	case <-l.ends():
	}
}

// takeTurns gives the seat to the next request and waits for the next turn.
func (l *Lease) takeTurns() {
	turn := make(chan struct{})
	if !l.turn.CompareAndSwap(nil, &turn) {
		return
	}
	if l.state.CompareAndSwap(held, turning) {
		if l.limiter.queues.again(l) {
			l.state.Store(held)
		} else {
			l.state.Store(given) // it ended while it waited
		}
	}
	l.turn.Store(nil)
	close(turn)
}

// use ends a slice and returns its work.
func (l *Lease) use() time.Duration {
	now := time.Now().UnixNano()
	took := now - l.since.Swap(now)
	l.used.Add(took)
	return time.Duration(took * l.width)
}

// Blocking calls f, which waits for something other than a processor. If f takes longer than a slice, the seat is given back, and
// Blocking then waits for a new one. It must not be called concurrently.
func (l *Lease) Blocking(f func() error) error {
	if l == nil {
		return f()
	}
	gave := make(chan bool, 1)
	begin := time.Now()
	timer := time.AfterFunc(slice, func() { gave <- l.give() })
	err := f()
	waited := time.Since(begin)
	if !timer.Stop() && <-gave {
		waited = slice
		l.regain()
	}
	if l.width == 1 { // no others of its goroutines computed meanwhile
		l.idle.Add(int64(waited))
	}
	return err
}

// give gives the seat back and reports whether the lease had it.
func (l *Lease) give() bool {
	for !l.state.CompareAndSwap(held, given) {
		turn := l.turn.Load()
		if turn == nil || l.ended() {
			if l.state.Load() == held {
				continue
			}
			return false
		}
		l.await(*turn)
	}
	l.leave()
	return true
}

// leave returns the seat of a lease that was given back.
func (l *Lease) leave() {
	took := l.use()
	if l.queue != nil || !l.limiter.giveBack() {
		l.limiter.queues.leave(l, took)
	}
}

// regain takes a seat again.
func (l *Lease) regain() {
	if (l.queue != nil || !l.limiter.take()) && !l.limiter.queues.come(l) {
		return
	}
	l.since.Store(time.Now().UnixNano())
	if !l.state.CompareAndSwap(given, held) { // released meanwhile
		l.leave()
	}
}

// Release ends the lease, once. Nothing may use its contexts any more.
func (l *Lease) Release() {
	if l == nil {
		return
	}
	switch l.state.Swap(released) {
	case released:
		return
	case held:
		l.leave()
	}
	used := time.Duration(l.used.Load() - l.idle.Load())
	if call, ok := l.ctx.Value(arrivalKey{}).(*arrival); ok {
		call.sat.Store(true)
		// One goroutine may wait for the caller while another one waits for its turn: more time is idle then than was used.
		call.kind.usual.learn(max(int64(used), 0))
		if l.early != nil {
			call.kind.partial.Store(time.Now().UnixNano())
		}
	}
	// A request that allows a partial answer takes all the time it has, which says nothing about its estimate.
	if l.ctx.Err() == nil && l.early == nil && used > 0 {
		l.limiter.learn(l.class, l.estimate, used*time.Duration(l.width))
	}
}
