package interceptor

import (
	"context"
	"sync/atomic"
	"time"

	"github.com/grpc-ecosystem/go-grpc-middleware/v2/interceptors/ratelimit"
	"google.golang.org/grpc"

	"github.com/stowage-scheduler/stowage/server/rpcerror"
)

// RateLimit admits calls at a rate with a burst: the generic cell rate algorithm on one atomic.
type RateLimit struct {
	perSecond float64
	interval  time.Duration // between two calls at the rate
	burst     time.Duration // interval times the burst size
	now       func() time.Time
	start     time.Time
	// due is the theoretical arrival time of the next call, as nanoseconds since start.
	due atomic.Int64
}

// NewRateLimit returns a limit of perSecond calls with a burst, measured by the clock now.
func NewRateLimit(perSecond float64, burst int, now func() time.Time) *RateLimit {
	interval := max(time.Duration(float64(time.Second)/perSecond), 1)
	return &RateLimit{perSecond: perSecond, interval: interval, burst: interval * time.Duration(burst), now: now, start: now()}
}

// admit admits a call and returns 0, or returns the wait before a retry.
func (l *RateLimit) admit() (wait time.Duration) {
	now := int64(l.now().Sub(l.start))
	for {
		due := l.due.Load()
		next := max(due, now) + int64(l.interval)
		if wait := next - now - int64(l.burst); wait > 0 {
			return time.Duration(wait)
		}
		if l.due.CompareAndSwap(due, next) {
			return 0
		}
	}
}

// Limit implements ratelimit.Limiter.
func (l *RateLimit) Limit(context.Context) error {
	if wait := l.admit(); wait > 0 {
		return rpcerror.RateLimited(l.perSecond, wait)
	}
	return nil
}

// limitRate rejects calls above the rate. The library keeps only the text of the limiter's error, so limitRate returns the
// recorded error, which carries RetryInfo.
func limitRate(l ratelimit.Limiter) grpc.UnaryServerInterceptor {
	return func(ctx context.Context, r any, info *grpc.UnaryServerInfo, handle grpc.UnaryHandler) (any, error) {
		recorded := &errorRecorder{Limiter: l}
		response, err := ratelimit.UnaryServerInterceptor(recorded)(ctx, r, info, handle)
		if recorded.err != nil {
			err = recorded.err
		}
		return response, err
	}
}

// limitStreamRate is limitRate for streams.
func limitStreamRate(l ratelimit.Limiter) grpc.StreamServerInterceptor {
	return func(service any, stream grpc.ServerStream, info *grpc.StreamServerInfo, handle grpc.StreamHandler) error {
		recorded := &errorRecorder{Limiter: l}
		err := ratelimit.StreamServerInterceptor(recorded)(service, stream, info, handle)
		if recorded.err != nil {
			err = recorded.err
		}
		return err
	}
}

// errorRecorder records the limiter's error for one call.
type errorRecorder struct {
	ratelimit.Limiter
	err error
}

func (r *errorRecorder) Limit(ctx context.Context) error {
	r.err = r.Limiter.Limit(ctx)
	return r.err
}
