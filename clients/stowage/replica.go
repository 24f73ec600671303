package stowage

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"google.golang.org/grpc/balancer"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

const (
	// strikesToEject is how many calls in a row a replica may leave without an answer before it gets no more.
	strikesToEject = 3
	// A replica gets no calls for firstEjection, twice as long each time, up to lastEjection. Then it gets one, and the next if it
	// answers that.
	firstEjection, lastEjection = time.Second, 30 * time.Second
)

// replica is what a client knows of a replica, over connections that come and go.
type replica struct {
	address     string
	outstanding atomic.Int64
	strikes     atomic.Int64 // in a row
	ejections   atomic.Int64 // in a row
	until       atomic.Int64 // when the ejection ends, in ns since 1970; 0 for none
	trial       atomic.Bool  // whether the call after an ejection is under way
}

// answered ends a row of strikes.
func (r *replica) answered() {
	if r.strikes.Load() != 0 || r.until.Load() != 0 {
		r.strikes.Store(0)
		r.ejections.Store(0)
		r.trial.Store(false)
		r.until.Store(0)
	}
}

// strike counts a call without an answer. Those that were under way when the replica was ejected do not count.
func (r *replica) strike() {
	if r.trial.CompareAndSwap(true, false) || r.strikes.Add(1) >= strikesToEject && r.until.Load() == 0 {
		lasts := min(firstEjection<<min(r.ejections.Add(1)-1, 10), lastEjection)
		r.until.Store(time.Now().Add(lasts).UnixNano())
	}
}

// in reports whether the replica gets calls.
func (r *replica) in() bool { return r.until.Load() == 0 }

// tried reports whether a call is to be the trial after an ejection. It is true for one of many callers.
func (r *replica) tried(now time.Time) bool {
	until := r.until.Load()
	if until == 0 || now.UnixNano() < until || !r.until.CompareAndSwap(until, now.Add(lastEjection).UnixNano()) {
		return false
	}
	r.trial.Store(true)
	return true
}

// done is called when a call of the replica has ended. A call that its caller cancelled, or that another try made needless, says
// nothing.
func (r *replica) done(info balancer.DoneInfo) {
	r.outstanding.Add(-1)
	switch code := status.Code(info.Err); {
	case code == codes.Canceled:
	case !info.BytesReceived && (code == codes.DeadlineExceeded || code == codes.Unavailable):
		r.strike()
	default:
		r.answered()
	}
}

// replicas are those of a client by address.
type replicas struct {
	byAddress sync.Map
	owners    owners
}

func (r *replicas) of(address string) *replica {
	if known, ok := r.byAddress.Load(address); ok {
		return known.(*replica)
	}
	known, _ := r.byAddress.LoadOrStore(address, &replica{address: address})
	return known.(*replica)
}

// try is one of the tries of a call at the same time. A try has one RPC at a time.
type try struct {
	replicas *replicas
	avoid    *replica // which another try of the call waits for; nil for none
	at       atomic.Pointer[replica]
	alone    atomic.Bool // whether there was no other replica to pick
}

type tryKey struct{}

func withTry(ctx context.Context, t *try) context.Context { return context.WithValue(ctx, tryKey{}, t) }
