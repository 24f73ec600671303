package interceptor

import (
	"context"
	"math"
	"sync/atomic"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"google.golang.org/grpc"
	"google.golang.org/grpc/stats"

	"github.com/stowage-scheduler/stowage/server/admission"
	"github.com/stowage-scheduler/stowage/server/config"
	"github.com/stowage-scheduler/stowage/server/instruments"
	"github.com/stowage-scheduler/stowage/server/rpcerror"
)

// retryOverloaded is the RetryInfo delay of OVERLOADED: about the duration of a large call.
const retryOverloaded = time.Second

// InFlight limits the total size of the requests in progress, in bytes after decompression. Decoded requests take a
// multiple of that. Memory that is not proportional to the request counts through Reserve.
//
// InFlight is a stats handler and an interceptor. The stats handler sees every received message and the end of every call.
// The interceptor rejects calls that exceeded the limit, and releases a call's bytes before its status is sent, so that a
// client that has its response can send the next request. Calls rejected by the rate limit, which is outside of it, are
// released a moment later. A request that is alone in flight is never rejected if the limit is at least the maximum message
// size.
type InFlight struct {
	limit    int64
	bytes    atomic.Int64
	clients  *admission.ByClient[atomic.Int64] // bytes of each
	refusals atomic.Int64
}

// NewInFlight returns an InFlight with a limit in bytes.
func NewInFlight(limit int64) *InFlight {
	return &InFlight{limit: limit, clients: admission.NewByClient[atomic.Int64](1024)}
}

// Counts returns the bytes in flight, their limit, and how many calls were refused because of it so far.
func (f *InFlight) Counts() (bytes, limit, refusals int64) {
	return f.bytes.Load(), f.limit, f.refusals.Load()
}

// Calls of clients that hold at most the limit divided by smallShare have a reserve beyond the limit, which is the limit divided by
// reserveShare: requests of others, large or many small ones, do not cause refusals of theirs.
const smallShare, reserveShare = 256, 8

// room is the limit on the bytes of all calls, for a call of a client that holds some bytes.
func (f *InFlight) room(held int64) int64 {
	if held > f.limit/smallShare || f.limit == math.MaxInt64 {
		return f.limit
	}
	return f.limit + f.limit/reserveShare
}

// refuse returns OVERLOADED.
func (f *InFlight) refuse() error {
	f.refusals.Add(1)
	return rpcerror.Overloaded(f.limit, retryOverloaded)
}

// call is the accounting of one RPC.
type call struct {
	limiter  *InFlight
	client   *atomic.Int64 // bytes of all its calls
	received atomic.Int64  // bytes of received messages
	counted  atomic.Int64  // received bytes, and what messages count in addition as they contain much
	charged  atomic.Int64  // received and reserved bytes; negative after release
	overload atomic.Bool   // a received message exceeded the limit

	// began is when the call began, of unary calls; whole when the request had been received.
	began, whole time.Time
}

// charge adds bytes to the call and returns the total of all calls. It fails after release.
func (c *call) charge(bytes int64) (total int64, ok bool) {
	if c.charged.Add(bytes) < 0 {
		return 0, false
	}
	c.client.Add(bytes)
	return c.limiter.bytes.Add(bytes), true
}

// release subtracts the call's bytes from the total. It may be called more than once.
func (c *call) release() {
	if bytes := c.charged.Swap(math.MinInt64); bytes > 0 {
		c.limiter.bytes.Add(-bytes)
		c.client.Add(-bytes)
	}
}

type callKey struct{}

// callOf returns the call of a context, nil if InFlight is not its stats handler.
func callOf(ctx context.Context) *call {
	c, _ := ctx.Value(callKey{}).(*call)
	return c
}

// requestBytes is the size of the messages that a call received.
func requestBytes(ctx context.Context) int64 {
	if c := callOf(ctx); c != nil {
		return c.received.Load()
	}
	return 0
}

// TagRPC implements stats.Handler.
func (f *InFlight) TagRPC(ctx context.Context, _ *stats.RPCTagInfo) context.Context {
	return context.WithValue(ctx, callKey{}, &call{limiter: f, client: f.clients.Of(admission.Client(ctx))})
}

// HandleRPC implements stats.Handler.
func (f *InFlight) HandleRPC(ctx context.Context, s stats.RPCStats) {
	c := callOf(ctx)
	if c == nil {
		return
	}
	switch s := s.(type) {
	case *stats.Begin:
		if !s.IsClientStream {
			c.began = s.BeginTime
		}
	case *stats.InPayload:
		if !c.began.IsZero() {
			c.whole = s.RecvTime
		}
		c.received.Add(int64(s.Length))
		counted := c.counted.Add(int64(s.Length))
		// What a call reserves for copies may exceed the limit if it is alone.
		if total, ok := c.charge(int64(s.Length)); ok && total > f.room(c.client.Load()) && (counted > f.limit || total > c.charged.Load()) {
			c.overload.Store(true)
			c.release() // what is refused refuses no others
		}
	case *stats.End:
		c.release()
	}
}

// Reserve charges bytes beyond the request to the call of a context until the call ends. It fails if the total exceeds the
// limit, unless the call is alone in flight.
func Reserve(ctx context.Context, bytes int64) error {
	c := callOf(ctx)
	if c == nil {
		return nil
	}
	total, ok := c.charge(bytes)
	if !ok {
		return nil // the call ended, its result is discarded
	}
	if total > c.limiter.room(c.client.Load()) && total > c.charged.Load() {
		c.release()
		return c.limiter.refuse()
	}
	return nil
}

// ReserveDecoded charges what a message of a call takes once it is decoded, if that is more than BytesPerRequestByte for each of its
// bytes, until the call ends. It fails as Reserve does, and for a call that exceeds the limit even alone.
func ReserveDecoded(ctx context.Context, message int, decoded int64) error {
	more := decoded/config.BytesPerRequestByte - int64(message)
	c := callOf(ctx)
	if c == nil || more <= 0 {
		return nil
	}
	if all, limit := c.counted.Add(more), c.limiter.limit; all > limit {
		c.limiter.refusals.Add(1)
		if c.began.IsZero() && c.received.Load() > int64(message) {
			return rpcerror.StreamTooLarge(all, limit)
		}
		return rpcerror.RequestTooLarge(all, limit)
	}
	return Reserve(ctx, more)
}

// TagConn implements stats.Handler.
func (f *InFlight) TagConn(ctx context.Context, _ *stats.ConnTagInfo) context.Context { return ctx }

// HandleConn implements stats.Handler.
func (f *InFlight) HandleConn(context.Context, stats.ConnStats) {}

func (f *InFlight) intercept(ctx context.Context, r any, _ *grpc.UnaryServerInfo, handle grpc.UnaryHandler) (any, error) {
	if c := callOf(ctx); c != nil {
		defer c.release()
		if c.overload.Load() {
			return nil, f.refuse()
		}
		c.trace(ctx)
	}
	return handle(ctx, r)
}

// trace adds what receiving the request took to the span of the call, if that is recorded.
func (c *call) trace(ctx context.Context) {
	if !c.whole.IsZero() {
		instruments.Phase(ctx, "receive", c.began, c.whole, attribute.Int64("stowage.request.bytes", c.received.Load()))
	}
}

// interceptStream rejects a stream at the message that exceeds the limit.
func (f *InFlight) interceptStream(service any, stream grpc.ServerStream, _ *grpc.StreamServerInfo, handle grpc.StreamHandler) error {
	if c := callOf(stream.Context()); c != nil {
		defer c.release()
	}
	return handle(service, inFlightStream{stream, f})
}

type inFlightStream struct {
	grpc.ServerStream
	limiter *InFlight
}

func (s inFlightStream) RecvMsg(m any) error {
	if err := s.ServerStream.RecvMsg(m); err != nil {
		return err
	}
	c := callOf(s.Context())
	if c == nil || !c.overload.Load() {
		return nil
	}
	if bytes := c.counted.Load(); bytes > s.limiter.limit { // a retry cannot succeed
		return rpcerror.StreamTooLarge(bytes, s.limiter.limit)
	}
	return s.limiter.refuse()
}
