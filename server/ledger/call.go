package ledger

import (
	"context"
	"sync/atomic"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/encoding"
	"google.golang.org/grpc/peer"
	"google.golang.org/grpc/stats"
	"google.golang.org/grpc/status"
	"google.golang.org/grpc/tap"

	"github.com/stowage-scheduler/stowage/server/rpcerror"
)

// retryAfter is the RetryInfo of refusals.
const retryAfter = time.Second

// framing is the size of the prefix of a message.
const framing = 5

// Call counts what a call received and its handler has not read yet.
type Call struct {
	conn *Conn
	// client is the account of received bytes and of answers, unless the caller gets a name later. It may use one of parts shares of
	// the room.
	client account
	parts  int64
	held   counted
	// refusal is the error with which the ledger ended the call. stream sends it to the caller, once the handler began.
	refusal atomic.Pointer[error]
	stream  atomic.Pointer[transportStream]
	// begun is whether the handler began. If so, the handler's end gives back what the call holds.
	begun atomic.Bool
	// unwatch ends the watch over a deadline that passes before the handler begins, when gRPC drops the call; nil for none.
	unwatch func() bool
}

type callKey struct{}

func callOf(ctx context.Context) *Call {
	c, _ := ctx.Value(callKey{}).(*Call)
	return c
}

// transportStream are methods of gRPC's stream that its interface leaves out.
type transportStream interface {
	// RecvCompress returns the encoding of the messages.
	RecvCompress() string
	// WriteStatus ends the stream and whatever waits for its messages: gRPC then does not send its own status.
	WriteStatus(*status.Status) error
}

// Enter is a tap.ServerInHandle: it opens the call of the last HEADERS frame.
func (l *Ledger) Enter(ctx context.Context, _ *tap.Info) (context.Context, error) {
	p, ok := peer.FromContext(ctx)
	if ctx.Err() != nil || !ok {
		return ctx, nil //nolint:nilerr // gRPC refuses a call without time
	}
	at, ok := p.Addr.(remote)
	if !ok {
		return ctx, nil
	}
	call := &Call{conn: at.conn}
	call.client, call.parts = l.accountOf(ctx, at.conn)
	if !l.receiving.takeOf(call.client, openBytes, call.parts) {
		return ctx, l.refused(Receiving)
	}
	call.held.add(openBytes)
	at.conn.open(call)
	if _, ok := ctx.Deadline(); ok {
		call.unwatch = context.AfterFunc(ctx, func() {
			if !call.begun.Load() {
				call.release()
			}
		})
	}
	return context.WithValue(ctx, callKey{}, call), nil
}

// strangerParts divides the room for callers without an identity, where the server knows identities: each may use one part, as
// callers with an identity may come from the same host.
const strangerParts = 8

// accountOf returns the account of a call's caller, and the number of parts of the room of which the caller may use one.
func (l *Ledger) accountOf(ctx context.Context, conn *Conn) (account, int64) {
	if l.settings.Name == nil {
		return conn.client, 1
	}
	if name := l.settings.Name(ctx); name != "" {
		client := accountOf("client " + name)
		conn.name(client)
		return client, 1
	}
	return conn.client, strangerParts
}

// refused counts a refusal and returns its error.
func (l *Ledger) refused(k Kind) error {
	l.refusals[k].Add(1)
	return rpcerror.OutOfRoom([kinds]string{"requests that are being received", "answers that it does not read"}[k], retryAfter)
}

// receive counts received bytes. If there is no room for them, it ends the call.
func (c *Call) receive(bytes int64) {
	l := c.conn.ledger
	if !l.receiving.takeOf(c.client, bytes, c.parts) {
		c.refuse(l.refused(Receiving))
		return
	}
	if !c.held.add(bytes) {
		l.receiving.give(c.client, bytes)
	}
}

// refuse ends a call with an error and gives back its bytes.
func (c *Call) refuse(err error) {
	c.refusal.Store(&err)
	if stream := c.stream.Load(); stream != nil {
		_ = (*stream).WriteStatus(status.Convert(err)) // it fails if the call or the connection has ended
	}
	c.release()
}

// begin is called by the handler. It returns the error of a call that may not begin.
func begin(ctx context.Context) (*Call, error) {
	stream, ok := grpc.ServerTransportStreamFromContext(ctx).(transportStream)
	if !ok {
		return nil, nil
	}
	if by := stream.RecvCompress(); by != "" && by != encoding.Identity { // its decompressed size is unknown in advance
		return nil, status.Errorf(codes.Unimplemented, "requests must not be compressed, and are by %q", by)
	}
	c := callOf(ctx)
	if c == nil {
		return nil, nil
	}
	c.stream.Store(&stream)
	return c, c.errorOr(nil)
}

// errorOr returns the error that the ledger ended the call with, else err.
func (c *Call) errorOr(err error) error {
	if r := c.refusal.Load(); r != nil {
		return *r
	}
	return err
}

// release gives back all bytes of a call, for good.
func (c *Call) release() { c.conn.ledger.receiving.give(c.client, c.held.end()) }

// TagRPC implements stats.Handler: the handler of a call begins.
func (*Ledger) TagRPC(ctx context.Context, _ *stats.RPCTagInfo) context.Context {
	if c := callOf(ctx); c != nil {
		c.begun.Store(true)
		if c.unwatch != nil {
			c.unwatch()
		}
	}
	return ctx
}

// HandleRPC implements stats.Handler.
func (*Ledger) HandleRPC(ctx context.Context, s stats.RPCStats) {
	switch s := s.(type) {
	case *stats.InPayload:
		if c := callOf(ctx); c != nil {
			c.conn.ledger.receiving.give(c.client, c.held.remove(int64(s.CompressedLength)+framing))
		}
	case *stats.End:
		if c := callOf(ctx); c != nil {
			c.release()
		}
	}
}

// TagConn implements stats.Handler.
func (*Ledger) TagConn(ctx context.Context, _ *stats.ConnTagInfo) context.Context { return ctx }

// HandleConn implements stats.Handler.
func (*Ledger) HandleConn(context.Context, stats.ConnStats) {}
