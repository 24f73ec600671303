package stowage

import (
	"context"
	"math/rand/v2"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
)

// maximumAttempts bounds the attempts of a call if the server specifies a delay. Calls that the client's throttle does not send do not
// count.
const maximumAttempts = 4

// unaryAgain is again for unary calls.
func (c *Client) unaryAgain(ctx context.Context, method string, request, reply any, conn *grpc.ClientConn, invoke grpc.UnaryInvoker,
	options ...grpc.CallOption,
) error {
	return c.again(ctx, func() error { return invoke(ctx, method, request, reply, conn, options...) })
}

// again repeats a call after the server's delay, with some jitter, so that rejected callers do not return all at once. gRPC's own retry
// policy knows only codes, and cannot distinguish a busy server from an oversized request. A call that reached no replica is repeated as
// WithPatience describes.
func (c *Client) again(ctx context.Context, call func() error) error {
	var failed time.Time // when a call first reached no replica
	for attempt := 1; ; {
		err := call()
		if err == nil {
			return nil
		}
		d := Details(err)
		if d.Code == codes.Unavailable && d.RetryAfter == 0 {
			if failed.IsZero() {
				failed = time.Now()
			}
			if !c.reach.again(ctx, failed) {
				return err
			}
			continue
		}
		after := d.RetryAfter
		if after <= 0 {
			return err
		}
		if sent := d.Metadata["limit"] != clientLimit; sent {
			if attempt == maximumAttempts {
				return err
			}
			attempt++
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
