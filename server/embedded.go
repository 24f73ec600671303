package server

import (
	"context"
	"errors"
	"log/slog"
	"math"
	"net"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	healthv1 "google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/test/bufconn"

	"github.com/stowage-scheduler/stowage/server/config"
	"github.com/stowage-scheduler/stowage/server/placement"
)

// NewEmbedded serves inside the process and returns a connection to it: the same service behind the same interceptors,
// over memory instead of a network, for command lines and tests. It limits neither sizes nor rates. It logs, measures
// and traces nothing, whatever the OTEL_* variables say: they are meant for the process around it, whose output and exit
// must not depend on where telemetry goes. stop closes the connection and ends the server, which also ends with ctx.
func NewEmbedded(ctx context.Context) (conn *grpc.ClientConn, stop func() error, err error) {
	c := config.Config{
		MaxReceiveMessageBytes: math.MaxInt32,
		MaxInFlightBytes:       math.MaxInt64,
		MaxConcurrentStreams:   math.MaxUint32,
		MaxSnapshotBytes:       1 << 30,
	}
	s, h := newGRPC(&c, slog.New(slog.DiscardHandler), nil, nil, placement.New(c.MaxSnapshotBytes, nil))
	h.SetServingStatus("", healthv1.HealthCheckResponse_SERVING)
	listener := bufconn.Listen(1 << 20)
	served := make(chan error, 1)
	go func() { served <- s.Serve(listener) }()
	waits := context.AfterFunc(ctx, s.Stop)
	conn, err = grpc.NewClient("passthrough:///embedded",
		grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithContextDialer(func(ctx context.Context, _ string) (net.Conn, error) { return listener.DialContext(ctx) }),
		grpc.WithDefaultCallOptions(grpc.MaxCallRecvMsgSize(math.MaxInt32), grpc.MaxCallSendMsgSize(math.MaxInt32)),
	)
	stop = func() error {
		var closing error
		if conn != nil {
			closing = conn.Close()
		}
		waits()
		s.Stop()
		return errors.Join(closing, <-served)
	}
	if err != nil {
		return nil, nil, errors.Join(err, stop())
	}
	return conn, stop, nil
}
