package admission

import (
	"context"
	"hash/maphash"
	"runtime"
	"sync/atomic"
	"time"
)

// Settings are the bounds of a Limiter.
type Settings struct {
	// Seats is the number of requests that compute at a time; 0 for one for each processor.
	Seats int
	// MaxWait bounds the expected wait of a request before it begins; with 0 only the deadline bounds it.
	MaxWait time.Duration
	// Observer receives waits and refusals. May be nil.
	Observer Observer
	// Measured is called for each request that was worked on to its end, with its estimate and with the time it had a seat, times
	// the processors that it kept busy. May be nil.
	Measured func(c Class, estimate, took time.Duration)
}

// Observer receives events of requests that did not get a seat at once.
type Observer interface {
	// Waited is called when a request gets a seat after it waited, and when its caller stopped waiting.
	Waited(context.Context, time.Duration)
	// Refused is called for each refused request.
	Refused(context.Context, Reason)
}

// Limiter admits requests. It is safe for concurrent use.
type Limiter struct {
	seats    uint32
	maxWait  time.Duration
	observer Observer
	measured func(Class, time.Duration, time.Duration)
	// counts is the number of requests with a seat in the lower half, and the number of waiting requests in the upper half. While
	// none waits it changes without the lock of the queues. From then on only the holder of that lock changes it.
	counts atomic.Uint64
	speeds [classes]speed
	queues queues
}

// New returns a limiter.
func New(s Settings) *Limiter {
	if s.Seats <= 0 {
		s.Seats = runtime.GOMAXPROCS(0)
	}
	l := &Limiter{seats: uint32(s.Seats), maxWait: s.MaxWait, observer: s.Observer, measured: s.Measured}
	l.queues.limiter, l.queues.seed = l, maphash.MakeSeed()
	return l
}

const (
	oneSeat   = uint64(1)
	oneWaiter = uint64(1) << 32
	noSeat    = ^uint64(0)
	noWaiter  = ^(oneWaiter - 1)
	// A waiter gets a seat, and waits again.
	seated, unseated = noWaiter | oneSeat, oneWaiter - oneSeat
)

func split(counts uint64) (seats, waiting uint32) { return uint32(counts), uint32(counts >> 32) }

// Seats is the number of seats.
func (l *Limiter) Seats() int { return int(l.seats) }

// Load returns the number of seats in use and of requests that wait.
func (l *Limiter) Load() (seats, waiting int) {
	s, w := split(l.counts.Load())
	return int(s), int(w)
}

// contended reports whether requests wait.
func (l *Limiter) contended() bool { return l.counts.Load() >= oneWaiter }

// take takes a seat if one is free and no request waits.
func (l *Limiter) take() bool {
	for {
		counts := l.counts.Load()
		if seats, waiting := split(counts); waiting > 0 || seats >= l.seats {
			return false
		}
		if l.counts.CompareAndSwap(counts, counts+oneSeat) {
			return true
		}
	}
}

// giveBack gives a seat back if no request waits.
func (l *Limiter) giveBack() bool {
	for {
		counts := l.counts.Load()
		if _, waiting := split(counts); waiting > 0 {
			return false
		}
		if l.counts.CompareAndSwap(counts, counts-oneSeat) {
			return true
		}
	}
}

// Admit waits for a seat and returns a lease of it, which the caller must release. estimate is the work that is known so far, by
// width goroutines. Admit fails with a *Refusal, or with the context's error. On nil it returns nil, which is a lease without
// limits.
func (l *Limiter) Admit(ctx context.Context, class Class, estimate time.Duration, width int) (*Lease, error) {
	return l.AdmitUntil(ctx, nil, class, estimate, width)
}

// AdmitUntil is Admit for a request that answers with a partial result once early is done, unless early is nil: no estimate is too
// much for it, and from then on it no longer waits for turns.
func (l *Limiter) AdmitUntil(
	ctx context.Context, early <-chan struct{}, class Class, estimate time.Duration, width int,
) (*Lease, error) {
	if l == nil {
		return nil, nil
	}
	lease := &Lease{limiter: l, ctx: ctx, early: early, class: class, estimate: max(estimate, 1), width: int64(max(width, 1))}
	lease.left.Store(1)
	if !l.take() {
		if err := l.queues.admit(lease); err != nil {
			return nil, err
		}
	}
	lease.began = time.Now()
	lease.since.Store(lease.began.UnixNano())
	lease.looked.Store(lease.began.UnixNano())
	lease.yielded.Store(lease.began.UnixNano())
	return lease, nil
}

// Class is a kind of request whose estimates are off by about the same factor.
type Class uint8

const classes = 16

// speed is by how much measured work exceeds estimates, in 1/unit, less 1.
type speed struct{ ratio average }

const (
	unit = 1 << 10
	// Bounds on the effect of a measurement.
	slowest, fastest = 4 * unit, unit / 16
)

// expected is an estimate by the measurements of its class.
func (l *Limiter) expected(c Class, estimate time.Duration) time.Duration {
	ratio := unit + l.speeds[c%classes].ratio.Load()
	return time.Duration(min(float64(estimate)*float64(ratio)/unit, 1<<62))
}

// remaining is how long the rest of a lease's work is expected to take while it has a seat.
func (l *Limiter) remaining(of *Lease) time.Duration {
	return max(l.rest(of), 1)
}

// rest is remaining, and less than 1 if the work takes longer than was expected.
func (l *Limiter) rest(of *Lease) time.Duration {
	return l.expected(of.class, of.estimate)/time.Duration(of.width) - time.Duration(of.used.Load()-of.idle.Load())
}

// learn adds a measurement of work. Concurrent measurements may be lost.
func (l *Limiter) learn(c Class, estimate, took time.Duration) {
	if l.measured != nil {
		l.measured(c, estimate, took)
	}
	ratio := min(max(int64(min(float64(took)/float64(estimate), slowest)*unit), fastest), slowest) - unit
	l.speeds[c%classes].ratio.learn(ratio)
}
