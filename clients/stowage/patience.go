package stowage

import (
	"context"
	"sync/atomic"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/connectivity"
)

// WithPatience is an option of Dial. A call that fails because no replica is reachable is retried once one is reachable again, if that
// happens within d after the loss of the last replica. This hides restarts of the server; a longer outage is reported immediately.
// Without the option, and after d, only gRPC's own retries apply, for about 0.7 s.
func WithPatience(d time.Duration) grpc.DialOption { return patience{d: d} }

type patience struct {
	grpc.EmptyDialOption
	d time.Duration
}

// reach records when the last reachable replica was lost.
type reach struct {
	conn     *grpc.ClientConn
	patience time.Duration
	lost     atomic.Int64 // in ns since 1970, 0 while a replica is reachable
	ended    chan struct{}
}

func newReach(conn *grpc.ClientConn, patience time.Duration) *reach {
	r := &reach{conn: conn, patience: patience, ended: make(chan struct{})}
	go r.watch()
	return r
}

// watch watches the connection until it is closed.
func (r *reach) watch() {
	defer close(r.ended)
	for state := r.conn.GetState(); state != connectivity.Shutdown; state = r.conn.GetState() {
		switch state {
		case connectivity.Ready:
			r.lost.Store(0)
		case connectivity.TransientFailure:
			r.lost.CompareAndSwap(0, time.Now().UnixNano())
		}
		r.conn.WaitForStateChange(context.Background(), state)
	}
}

// again waits until a replica is reachable, after a call that failed at the given time, and reports whether to retry the call.
func (r *reach) again(ctx context.Context, failed time.Time) bool {
	since := failed
	if lost := r.lost.Load(); lost != 0 && time.Unix(0, lost).Before(failed) {
		since = time.Unix(0, lost)
	}
	ctx, cancel := context.WithDeadline(ctx, since.Add(r.patience))
	defer cancel()
	for ctx.Err() == nil {
		state := r.conn.GetState()
		if state == connectivity.Ready {
			return true
		}
		r.conn.Connect()
		r.conn.WaitForStateChange(ctx, state)
	}
	return false
}
