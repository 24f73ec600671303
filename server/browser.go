//go:build js

package server

import (
	"log/slog"
	"math"

	"google.golang.org/grpc"

	"github.com/stowage-scheduler/stowage/server/interceptor"
	"github.com/stowage-scheduler/stowage/server/placement"
	"github.com/stowage-scheduler/stowage/server/wire"
)

// newEmbedded returns the server of ServeEmbedded in a browser: the service and the interceptors, without what a process that others call needs.
func newEmbedded() *grpc.Server {
	inFlight := interceptor.NewInFlight(math.MaxInt64)
	chain := interceptor.Chain(interceptor.Settings{Log: slog.New(slog.DiscardHandler), InFlight: inFlight})
	codec := wire.NewCodec()
	codec.Plain = wire.PlainBytes
	s := grpc.NewServer(
		grpc.ChainUnaryInterceptor(interceptor.Unary(chain)...),
		grpc.ChainStreamInterceptor(interceptor.Stream(chain)...),
		grpc.ForceServerCodecV2(codec),
		grpc.StatsHandler(inFlight),
		grpc.MaxRecvMsgSize(math.MaxInt32),
		grpc.MaxSendMsgSize(math.MaxInt32),
	)
	service := placement.New(maxEmbeddedSnapshotBytes, nil)
	service.SetLimits(placement.Limits{SnapshotBytes: maxEmbeddedSnapshotBytes})
	service.SetEnvelope(interceptor.Envelope())
	placement.Register(s, service)
	return s
}
