package stowage

import (
	"context"
	"math/rand/v2"
	"time"

	"google.golang.org/grpc"
)

// maximumAttempts is how often a call is tried when the server asks to come back later.
const maximumAttempts = 4

// retryWhenAsked is again for unary calls.
func retryWhenAsked(ctx context.Context, method string, request, reply any, conn *grpc.ClientConn, invoke grpc.UnaryInvoker,
	options ...grpc.CallOption,
) error {
	return again(ctx, func() error { return invoke(ctx, method, request, reply, conn, options...) })
}

// again repeats a call for which the server said when to try again, that long after and a little more, so that the
// callers it turned away do not all come back at once. gRPC's own retry policy knows codes only, and could not tell a busy
// server from a request that is too large, which no waiting makes smaller.
func again(ctx context.Context, call func() error) error {
	for attempt := 1; ; attempt++ {
		err := call()
		if err == nil || attempt == maximumAttempts {
			return err
		}
		after := Details(err).RetryAfter
		if after <= 0 {
			return err
		}
		after += rand.N(after/4 + 1)
		if deadline, ok := ctx.Deadline(); ok && time.Until(deadline) < after {
			return err
		}
		select {
		case <-time.After(after):
		case <-ctx.Done():
			return err
		}
	}
}
