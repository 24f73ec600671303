package interceptor

import (
	"context"
	"math"
	"sync/atomic"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/stats"

	"github.com/stowage-scheduler/stowage/server/rpcerror"
)

// retryOverloaded is when a call that was refused for overload may come again: about as long as a large one takes.
const retryOverloaded = time.Second

// InFlight limits the bytes of the requests that are worked on at a time, as they are after decompression. What they
// take up once decoded grows with them, several times over. What does not grow with them counts if it is reserved.
//
// It is a stats handler, which sees each message come and each call end, however it ends; the interceptor refuses what
// the handler found to be too much, and counts a call no more before its status is sent: who has an answer finds room. (What
// the rate limit refuses, outside of it, counts a moment longer.) A request that comes alone is never refused if the limit
// is at least the largest message.
type InFlight struct {
	limit int64
	bytes atomic.Int64
}

// NewInFlight returns a limit of so many bytes.
func NewInFlight(limit int64) *InFlight { return &InFlight{limit: limit} }

// call is what is known of one call.
type call struct {
	of       *InFlight
	received atomic.Int64 // the bytes of its messages
	counted  atomic.Int64 // those and what is reserved; negative once it has ended
	overload atomic.Bool
}

// count counts more bytes of a call that has not ended, and returns those of all calls.
func (c *call) count(bytes int64) (all int64, ok bool) {
	if c.counted.Add(bytes) < 0 {
		return 0, false
	}
	return c.of.bytes.Add(bytes), true
}

// end counts a call no more.
func (c *call) end() {
	if bytes := c.counted.Swap(math.MinInt64); bytes > 0 {
		c.of.bytes.Add(-bytes)
	}
}

type callKey struct{}

// callOf returns the call of a context, nil if it is of none.
func callOf(ctx context.Context) *call {
	c, _ := ctx.Value(callKey{}).(*call)
	return c
}

// received is the size of a call's request.
func received(ctx context.Context) int64 {
	if c := callOf(ctx); c != nil {
		return c.received.Load()
	}
	return 0
}

// TagRPC implements stats.Handler.
func (f *InFlight) TagRPC(ctx context.Context, _ *stats.RPCTagInfo) context.Context {
	return context.WithValue(ctx, callKey{}, &call{of: f})
}

// HandleRPC implements stats.Handler.
func (f *InFlight) HandleRPC(ctx context.Context, s stats.RPCStats) {
	c := callOf(ctx)
	if c == nil {
		return
	}
	switch s := s.(type) {
	case *stats.InPayload:
		c.received.Add(int64(s.Length))
		if all, ok := c.count(int64(s.Length)); ok && all > f.limit {
			c.overload.Store(true)
		}
	case *stats.End:
		c.end()
	}
}

// Reserve counts bytes that the call of a context will take besides its request, until it ends, and fails if that is too
// much for now. A call that is the only one may reserve as much as it wants.
func Reserve(ctx context.Context, bytes int64) error {
	c := callOf(ctx)
	if c == nil {
		return nil
	}
	all, ok := c.count(bytes)
	if !ok {
		return nil // it has ended, so nobody waits for it
	}
	if all > c.of.limit && all > c.counted.Load() {
		return rpcerror.Overloaded(retryOverloaded)
	}
	return nil
}

// TagConn implements stats.Handler.
func (f *InFlight) TagConn(ctx context.Context, _ *stats.ConnTagInfo) context.Context { return ctx }

// HandleConn implements stats.Handler.
func (f *InFlight) HandleConn(context.Context, stats.ConnStats) {}

func (f *InFlight) intercept(ctx context.Context, r any, _ *grpc.UnaryServerInfo, handle grpc.UnaryHandler) (any, error) {
	if c := callOf(ctx); c != nil {
		defer c.end()
		if c.overload.Load() {
			return nil, rpcerror.Overloaded(retryOverloaded)
		}
	}
	return handle(ctx, r)
}

// interceptStream refuses a stream at the message that is too much.
func (f *InFlight) interceptStream(service any, stream grpc.ServerStream, _ *grpc.StreamServerInfo, handle grpc.StreamHandler) error {
	if c := callOf(stream.Context()); c != nil {
		defer c.end()
	}
	return handle(service, limitedStream{stream, f.limit})
}

type limitedStream struct {
	grpc.ServerStream
	limit int64
}

func (s limitedStream) RecvMsg(m any) error {
	if err := s.ServerStream.RecvMsg(m); err != nil {
		return err
	}
	c := callOf(s.Context())
	if c == nil || !c.overload.Load() {
		return nil
	}
	if bytes := c.received.Load(); bytes > s.limit { // which another time does not mend
		return rpcerror.StreamTooLarge(bytes, s.limit)
	}
	return rpcerror.Overloaded(retryOverloaded)
}
