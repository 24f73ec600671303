package stowage

import (
	"context"
	"sync/atomic"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/connectivity"
)

// WithPatience is an option of Dial: what no replica can be reached for is tried again once one can be, if that is within
// so long of when the last one was lost. So a server that is started anew is not noticed, and one that stays away is at
// once. Without it, and beyond it, there are the tries that gRPC makes, within some 0.7 s.
func WithPatience(d time.Duration) grpc.DialOption { return patience{d: d} }

type patience struct {
	grpc.EmptyDialOption
	d time.Duration
}

// reach knows whether a replica can be reached, and since when none can.
type reach struct {
	conn     *grpc.ClientConn
	patience time.Duration
	lost     atomic.Int64 // in ns since 1970, 0 while there is a replica
	ended    chan struct{}
}

func newReach(conn *grpc.ClientConn, patience time.Duration) *reach {
	r := &reach{conn: conn, patience: patience, ended: make(chan struct{})}
	go r.watch()
	return r
}

// watch follows the connection until it is closed.
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

// again waits, after a call that failed at a time, until a replica can be reached, and tells whether to call again.
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
