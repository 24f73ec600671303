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
	// strikesToEject is the number of consecutive calls without a response that ejects a replica.
	strikesToEject = 3
	// A replica receives no calls for firstEjection. The time doubles with each ejection, up to lastEjection. Then the replica receives
	// one trial call, and further calls if it answers it.
	firstEjection, lastEjection = time.Second, 30 * time.Second
)

// replica is a client's state of a replica, across its connections.
type replica struct {
	address     string
	outstanding atomic.Int64
	strikes     atomic.Int64 // consecutive
	ejections   atomic.Int64 // consecutive
	until       atomic.Int64 // when the ejection ends, in ns since 1970; 0 for none
	trial       atomic.Bool  // the call after an ejection is in progress
}

// answered resets the strikes.
func (r *replica) answered() {
	if r.strikes.Load() != 0 || r.until.Load() != 0 {
		r.strikes.Store(0)
		r.ejections.Store(0)
		r.trial.Store(false)
		r.until.Store(0)
	}
}

// strike counts a call without a response. Calls that were in progress at the ejection do not count.
func (r *replica) strike() {
	if r.trial.CompareAndSwap(true, false) || r.strikes.Add(1) >= strikesToEject && r.until.Load() == 0 {
		lasts := min(firstEjection<<min(r.ejections.Add(1)-1, 10), lastEjection)
		r.until.Store(time.Now().Add(lasts).UnixNano())
	}
}

// in reports whether the replica receives calls.
func (r *replica) in() bool { return r.until.Load() == 0 }

// tried reports whether a call becomes the trial after an ejection. It is true for one of many callers.
func (r *replica) tried(now time.Time) bool {
	until := r.until.Load()
	if until == 0 || now.UnixNano() < until || !r.until.CompareAndSwap(until, now.Add(lastEjection).UnixNano()) {
		return false
	}
	r.trial.Store(true)
	return true
}

// done counts the end of a call of the replica. It ignores calls that the caller cancelled, or that another try made needless.
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

// replicas are a client's replicas by address.
type replicas struct {
	byAddress sync.Map
	owners    owners
}

func (r *replicas) get(address string) *replica {
	if known, ok := r.byAddress.Load(address); ok {
		return known.(*replica)
	}
	known, _ := r.byAddress.LoadOrStore(address, &replica{address: address})
	return known.(*replica)
}

// try is one of a call's concurrent tries. A try has one RPC at a time.
type try struct {
	replicas *replicas
	avoid    *replica // the replica of another try of the call; nil for none
	at       atomic.Pointer[replica]
	alone    atomic.Bool // there was no other replica to pick
}

type tryKey struct{}

func withTry(ctx context.Context, t *try) context.Context { return context.WithValue(ctx, tryKey{}, t) }
