package gateway

import (
	"context"
	"math"
	"net"
	"net/http"
	"sync"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/test/bufconn"
)

const (
	// pipeBytes is the buffer of a connection to the gRPC server, for each direction. An idle connection keeps it, so it is small.
	pipeBytes = 4 << 10
	// overheadBytes is what an HTTP connection takes beside its connection to the gRPC server: its own buffers, TLS, and a gRPC client.
	overheadBytes = 64 << 10
)

// caller is an HTTP connection. Its requests come one after another.
type caller struct {
	remote, local net.Addr
	info          credentials.AuthInfo // nil in plain text, and before the first request

	mutex  sync.Mutex
	conn   *grpc.ClientConn // nil before the first call
	closed bool
}

type callerKey struct{}

func callerOf(ctx context.Context) *caller {
	c, _ := ctx.Value(callerKey{}).(*caller)
	return c
}

// callers are the connections of an HTTP server.
type callers struct{ open sync.Map } // *caller by net.Conn

func (c *callers) begin(ctx context.Context, conn net.Conn) context.Context {
	of := &caller{remote: conn.RemoteAddr(), local: conn.LocalAddr()}
	c.open.Store(conn, of)
	return context.WithValue(ctx, callerKey{}, of)
}

// state closes the connection of a caller who has left.
func (c *callers) state(conn net.Conn, s http.ConnState) {
	if s != http.StateClosed && s != http.StateHijacked {
		return
	}
	of, ok := c.open.LoadAndDelete(conn)
	if !ok {
		return
	}
	caller := of.(*caller)
	caller.mutex.Lock()
	defer caller.mutex.Unlock()
	caller.closed = true
	if caller.conn != nil {
		_ = caller.conn.Close()
	}
}

// connect returns the connection of a caller to the gRPC server.
func (g *Gateway) connect(c *caller) (*grpc.ClientConn, error) {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	if c.closed {
		return nil, net.ErrClosed
	}
	if c.conn != nil {
		return c.conn, nil
	}
	dial := func(ctx context.Context, _ string) (net.Conn, error) { return g.listener.dial(ctx, c) }
	conn, err := grpc.NewClient("passthrough:///http", grpc.WithContextDialer(dial), grpc.WithDisableServiceConfig(),
		grpc.WithTransportCredentials(insecure.NewCredentials()), grpc.WithReadBufferSize(0),
		grpc.WithDefaultCallOptions(grpc.MaxCallRecvMsgSize(math.MaxInt32), grpc.MaxCallSendMsgSize(math.MaxInt32)))
	c.conn = conn
	return conn, err
}

// listener hands connections of callers to the gRPC server.
type listener struct {
	pending chan net.Conn
	closed  chan struct{}
	once    sync.Once
}

func newListener() *listener {
	return &listener{pending: make(chan net.Conn), closed: make(chan struct{})}
}

// dial connects a caller.
func (l *listener) dial(ctx context.Context, c *caller) (net.Conn, error) {
	pipe := bufconn.Listen(pipeBytes)
	accepted := make(chan net.Conn, 1)
	go func() {
		conn, _ := pipe.Accept()
		accepted <- conn
	}()
	near, err := pipe.DialContext(ctx)
	if err != nil {
		_ = pipe.Close()
		return nil, err
	}
	far := &Conn{<-accepted, c.remote, c.local, c.info}
	select {
	case l.pending <- far:
		return near, nil
	case <-ctx.Done():
		err = ctx.Err()
	case <-l.closed:
		err = net.ErrClosed
	}
	_, _ = near.Close(), far.Close()
	return nil, err
}

// Accept implements net.Listener.
func (l *listener) Accept() (net.Conn, error) {
	select {
	case conn := <-l.pending:
		return conn, nil
	case <-l.closed:
		return nil, net.ErrClosed
	}
}

// Close implements net.Listener.
func (l *listener) Close() error {
	l.once.Do(func() { close(l.closed) })
	return nil
}

// Addr implements net.Listener.
func (*listener) Addr() net.Addr { return address{} }

type address struct{}

// Network implements net.Addr.
func (address) Network() string { return "gateway" }

// String implements net.Addr.
func (address) String() string { return "gateway" }

// Conn is the gRPC server's end of a connection. It has the addresses of the HTTP connection.
type Conn struct {
	net.Conn
	remote, local net.Addr
	// Info is the AuthInfo of the HTTP connection, nil in plain text.
	Info credentials.AuthInfo
}

// Overhead is what the ledger charges for the connection beside its charge for a gRPC connection.
func (*Conn) Overhead() int64 { return overheadBytes }

// RemoteAddr implements net.Conn.
func (c *Conn) RemoteAddr() net.Addr { return c.remote }

// LocalAddr implements net.Conn.
func (c *Conn) LocalAddr() net.Addr { return c.local }
