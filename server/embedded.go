package server

import (
	"context"
	"errors"
	"math"
	"net"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/test/bufconn"

	"github.com/stowage-scheduler/stowage/proto/answersize"
)

// NewEmbedded serves in process and returns a connection to the server: the same service and interceptors over an
// in-memory listener, for command-line tools and tests. It has no limits of size, rate or work. It has no logs, metrics or traces
// and ignores the OTEL_* variables: those configure the host process, whose output and exit must not depend on an exporter.
// stop closes the connection and stops the server. The server also stops when ctx is done.
func NewEmbedded(ctx context.Context) (conn *grpc.ClientConn, stop func() error, err error) {
	dial, end := ServeEmbedded(ctx)
	conn, err = grpc.NewClient("passthrough:///embedded", append(answersize.DialOptions(math.MaxInt32),
		grpc.WithTransportCredentials(insecure.NewCredentials()), grpc.WithContextDialer(dial),
		grpc.WithDefaultCallOptions(grpc.MaxCallSendMsgSize(math.MaxInt32)),
	)...)
	if err != nil {
		return nil, nil, errors.Join(err, end())
	}
	return conn, func() error { return errors.Join(conn.Close(), end()) }, nil
}

// maxEmbeddedSnapshotBytes bounds the snapshots that a server in process keeps.
const maxEmbeddedSnapshotBytes = 1 << 30

// ServeEmbedded is NewEmbedded without a connection: dial opens one for a gRPC client, in plain text. Close connections before
// calling stop.
func ServeEmbedded(ctx context.Context) (dial func(context.Context, string) (net.Conn, error), stop func() error) {
	s := newEmbedded()
	listener := bufconn.Listen(1 << 20)
	served := make(chan error, 1)
	go func() { served <- s.Serve(listener) }()
	detach := context.AfterFunc(ctx, s.Stop)
	dial = func(ctx context.Context, _ string) (net.Conn, error) { return listener.DialContext(ctx) }
	return dial, func() error {
		detach()
		s.Stop()
		return <-served
	}
}
