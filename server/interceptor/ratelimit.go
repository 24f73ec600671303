package interceptor

import (
	"context"
	"sync/atomic"
	"time"

	"github.com/grpc-ecosystem/go-grpc-middleware/v2/interceptors/ratelimit"
	"google.golang.org/grpc"

	"github.com/stowage-scheduler/stowage/server/rpcerror"
)

// RateLimit lets calls through at a rate, and a burst of them at once: the generic cell rate algorithm, on one atomic
// number.
type RateLimit struct {
	interval time.Duration // between calls at the rate
	burst    time.Duration // interval times the calls that may come at once
	now      func() time.Time
	start    time.Time
	// due is when, after start, the next call would be due if all had come at the rate.
	due atomic.Int64
}

// NewRateLimit returns a limit of so many calls a second. now is the clock.
func NewRateLimit(perSecond float64, burst int, now func() time.Time) *RateLimit {
	interval := max(time.Duration(float64(time.Second)/perSecond), 1)
	return &RateLimit{interval: interval, burst: interval * time.Duration(burst), now: now, start: now()}
}

// take lets a call through, or tells how long it is to wait.
func (l *RateLimit) take() (wait time.Duration) {
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
	if wait := l.take(); wait > 0 {
		return rpcerror.RateLimited(wait)
	}
	return nil
}

// limitRate refuses calls beyond the limit. The library would answer with the text of the limiter's error alone, so the
// error itself, which tells when to try again, is put back.
func limitRate(l ratelimit.Limiter) grpc.UnaryServerInterceptor {
	return func(ctx context.Context, r any, info *grpc.UnaryServerInfo, handle grpc.UnaryHandler) (any, error) {
		kept := &refusal{Limiter: l}
		answer, err := ratelimit.UnaryServerInterceptor(kept)(ctx, r, info, handle)
		if kept.err != nil {
			err = kept.err
		}
		return answer, err
	}
}

// limitStreamRate is limitRate for streams.
func limitStreamRate(l ratelimit.Limiter) grpc.StreamServerInterceptor {
	return func(service any, stream grpc.ServerStream, info *grpc.StreamServerInfo, handle grpc.StreamHandler) error {
		kept := &refusal{Limiter: l}
		err := ratelimit.StreamServerInterceptor(kept)(service, stream, info, handle)
		if kept.err != nil {
			err = kept.err
		}
		return err
	}
}

// refusal keeps the error with which a limiter refuses one call.
type refusal struct {
	ratelimit.Limiter
	err error
}

func (k *refusal) Limit(ctx context.Context) error {
	k.err = k.Limiter.Limit(ctx)
	return k.err
}
