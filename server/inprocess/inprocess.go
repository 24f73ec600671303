// Package inprocess serves in the process of its caller: the services of package server behind the same interceptors, over a listener
// in memory. It has no limits of size, rate or work. It has no logs, metrics or traces and ignores the OTEL_* variables: those configure the
// host process, whose output and exit must not depend on an exporter.
package inprocess

import (
	"context"
	"errors"
	"log/slog"
	"math"
	"net"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/health"
	healthv1 "google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/test/bufconn"

	"github.com/stowage-scheduler/stowage/proto/answersize"
	"github.com/stowage-scheduler/stowage/server/interceptor"
	"github.com/stowage-scheduler/stowage/server/placement"
	"github.com/stowage-scheduler/stowage/server/wire"
)

// Connect starts a server and returns a connection to it. stop closes the connection and stops the server. The server also stops when
// ctx is done.
func Connect(ctx context.Context) (conn *grpc.ClientConn, stop func() error, err error) {
	dial, end := Serve(ctx)
	conn, err = grpc.NewClient("passthrough:///embedded", append(answersize.DialOptions(math.MaxInt32),
		grpc.WithTransportCredentials(insecure.NewCredentials()), grpc.WithContextDialer(dial),
		grpc.WithDefaultCallOptions(grpc.MaxCallSendMsgSize(math.MaxInt32)),
	)...)
	if err != nil {
		return nil, nil, errors.Join(err, end())
	}
	return conn, func() error { return errors.Join(conn.Close(), end()) }, nil
}

// maxSnapshotBytes bounds the snapshots that the server keeps.
const maxSnapshotBytes = 1 << 30

func newServer() *grpc.Server {
	inFlight := interceptor.NewInFlight(math.MaxInt64)
	chain := interceptor.Chain(interceptor.Settings{Log: slog.New(slog.DiscardHandler), InFlight: inFlight})
	codec := wire.NewCodec()
	codec.Plain = wire.PlainBytes
	s := grpc.NewServer(append(wire.Transport(),
		grpc.ChainUnaryInterceptor(interceptor.Unary(chain)...),
		grpc.ChainStreamInterceptor(interceptor.Stream(chain)...),
		grpc.ForceServerCodecV2(codec),
		grpc.StatsHandler(inFlight),
		grpc.MaxRecvMsgSize(math.MaxInt32),
		grpc.MaxSendMsgSize(math.MaxInt32),
	)...)
	service := placement.New(maxSnapshotBytes, nil)
	service.SetLimits(placement.Limits{SnapshotBytes: maxSnapshotBytes})
	service.SetEnvelope(interceptor.Envelope)
	placement.Register(s, service)
	h := health.NewServer()
	h.SetServingStatus("", healthv1.HealthCheckResponse_SERVING)
	healthv1.RegisterHealthServer(s, h)
	return s
}

// Serve is Connect without a connection: dial opens one for a gRPC client, in plain text. Close connections before
// calling stop.
func Serve(ctx context.Context) (dial func(context.Context, string) (net.Conn, error), stop func() error) {
	s := newServer()
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
