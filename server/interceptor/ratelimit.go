package interceptor

import (
	"context"
	"time"

	"github.com/grpc-ecosystem/go-grpc-middleware/v2/interceptors/ratelimit"
	"google.golang.org/grpc"

	"github.com/stowage-scheduler/stowage/server/rate"
	"github.com/stowage-scheduler/stowage/server/rpcerror"
)

// RateLimit admits calls at a rate with a burst.
type RateLimit struct {
	perSecond float64
	limit     *rate.Limit
}

// NewRateLimit returns a limit of perSecond calls with a burst, measured by the clock now.
func NewRateLimit(perSecond float64, burst int, now func() time.Time) *RateLimit {
	return &RateLimit{perSecond, rate.New(perSecond, burst, now)}
}

// Limit implements ratelimit.Limiter.
func (l *RateLimit) Limit(context.Context) error {
	if wait := l.limit.Admit(); wait > 0 {
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
