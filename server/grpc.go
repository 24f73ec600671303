package server

import (
	"context"
	"log/slog"
	"math"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/health"
	healthv1 "google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/keepalive"
	"google.golang.org/grpc/reflection"
	"google.golang.org/grpc/tap"

	stowagev1 "github.com/stowage-scheduler/stowage/proto/stowage/v1"
	"github.com/stowage-scheduler/stowage/server/admission"
	"github.com/stowage-scheduler/stowage/server/config"
	"github.com/stowage-scheduler/stowage/server/interceptor"
	"github.com/stowage-scheduler/stowage/server/ledger"
	"github.com/stowage-scheduler/stowage/server/placement"
	"github.com/stowage-scheduler/stowage/server/rpcerror"
	"github.com/stowage-scheduler/stowage/server/telemetry"
	"github.com/stowage-scheduler/stowage/server/wire"
)

// handshakeTimeout bounds the TLS and HTTP/2 handshakes of a connection. A stopping server waits for unfinished handshakes.
const handshakeTimeout = 10 * time.Second

// leastReceiving is the minimum limit for requests that are being received, where few bytes may be in flight: open calls count even
// before they receive any.
const leastReceiving = 32 << 20

// sendTimeout is after how long a connection is closed whose client reads none of its answers.
const sendTimeout = 30 * time.Second

// newGRPC returns a gRPC server with the placement, simulation, health and reflection services. nil credentials mean plaintext; nil
// telemetry means no metrics and no traces, nil access that everybody may call everything, nil memory that no buffers are counted.
func newGRPC(
	c *config.Config, log *slog.Logger, tel *telemetry.Telemetry, creds credentials.TransportCredentials,
	access *access, memory *ledger.Ledger, inFlight *interceptor.InFlight, service stowagev1.PlacementServiceServer,
) (*grpc.Server, *health.Server) {
	settings := interceptor.Settings{Log: log, InFlight: inFlight, MaxDuration: c.MaxRequestDuration}
	if c.RateLimitPerSecond > 0 {
		settings.Rate = interceptor.NewRateLimit(c.RateLimitPerSecond, c.RateLimitBurst, time.Now)
	}
	chain := interceptor.Chain(settings)
	streams := interceptor.Stream(chain)
	if access != nil {
		streams = append([]grpc.StreamServerInterceptor{access.streams()}, streams...)
	}
	codec := wire.NewCodec()
	decides, isPlacement := service.(*placement.Service)
	if isPlacement {
		codec.Plain = wire.PlainBytes
	}
	options := append(wire.Transport(),
		grpc.ChainUnaryInterceptor(interceptor.Unary(chain)...),
		grpc.ChainStreamInterceptor(streams...),
		grpc.ForceServerCodecV2(codec),
		grpc.StatsHandler(inFlight),
		grpc.MaxRecvMsgSize(c.MaxReceiveMessageBytes),
		grpc.MaxSendMsgSize(math.MaxInt32),
		grpc.MaxConcurrentStreams(c.MaxConcurrentStreams),
		grpc.ConnectionTimeout(handshakeTimeout),
		grpc.KeepaliveEnforcementPolicy(keepalive.EnforcementPolicy{MinTime: 10 * time.Second, PermitWithoutStream: true}),
	)
	if c.MaxConnectionAge > 0 {
		options = append(options, grpc.KeepaliveParams(keepalive.ServerParameters{MaxConnectionAge: c.MaxConnectionAge}))
	}
	if tel != nil {
		options = append(options, grpc.StatsHandler(tel.StatsHandler()))
	}
	var taps []tap.ServerInHandle
	if access != nil {
		taps = append(taps, access.name)
	}
	limiter := newAdmission(c, log, tel)
	if limiter != nil {
		gate := admission.NewGate(limiter, func(r *admission.Refusal) error { return rpcerror.Busy(r.After) })
		options, taps = append(options, grpc.StatsHandler(gate)), append(taps, gate.Enter)
	}
	if memory != nil {
		if creds == nil {
			creds = insecure.NewCredentials()
		}
		creds = memory.Credentials(creds)
		options, taps = append(options, memory.Options()...), append(taps, memory.Enter)
	}
	if creds != nil {
		options = append(options, grpc.Creds(creds))
	}
	server := grpc.NewServer(append(options, grpc.InTapHandle(chainTaps(taps)))...)
	var s grpc.ServiceRegistrar = server
	if memory != nil {
		s = memory.Registrar(server)
	}
	s = guardedRegistrar{s, access}
	if isPlacement {
		decides.SetLimits(limits(c))
		decides.SetAdmission(limiter)
		decides.SetEnvelope(interceptor.Envelope)
		placement.Register(s, decides)
	} else {
		stowagev1.RegisterPlacementServiceServer(s, service)
	}
	h := health.NewServer()
	healthv1.RegisterHealthServer(s, h)
	reflection.RegisterV1(reflectionRegistrar{s, server})
	return server, h
}

// chainTaps returns a tap that calls others until one refuses.
func chainTaps(taps []tap.ServerInHandle) tap.ServerInHandle {
	return func(ctx context.Context, call *tap.Info) (_ context.Context, err error) {
		for _, enter := range taps {
			if ctx, err = enter(ctx, call); err != nil {
				break
			}
		}
		return ctx, err
	}
}

// reflectionRegistrar is a registrar of services that reflection describes.
type reflectionRegistrar struct {
	grpc.ServiceRegistrar
	reflection.ServiceInfoProvider
}

// newLedger returns the ledger of buffers, for a limit of the heap.
func newLedger(c *config.Config, heap int64, access *access) *ledger.Ledger {
	settings := ledger.Settings{
		ReceivingBytes: max(2*min(c.MaxInFlightBytes, math.MaxInt64/2), leastReceiving), UnreadBytes: config.BufferBytes(heap), ConnectionBytes: config.BufferBytes(heap),
		ReceiveTimeout: c.MaxRequestDuration, SendTimeout: sendTimeout,
	}
	if access != nil {
		settings.Name = access.Known
	}
	return ledger.New(settings)
}

// memoryOf returns the usage and limits of all kinds of memory.
func memoryOf(l *ledger.Ledger, inFlight *interceptor.InFlight) []telemetry.Memory {
	bytes, limit, refusals := inFlight.Counts()
	out := []telemetry.Memory{{Kind: "in_flight", Bytes: bytes, Limit: limit, Refusals: refusals}}
	for _, c := range l.Counts() {
		out = append(out, telemetry.Memory{Kind: c.Kind.String(), Bytes: c.Bytes, Limit: c.Limit, Refusals: c.Refusals})
	}
	return out
}

// newAdmission returns the limiter of computing requests, nil for none.
func newAdmission(c *config.Config, log *slog.Logger, tel *telemetry.Telemetry) *admission.Limiter {
	if c.Seats < 0 {
		return nil
	}
	settings := admission.Settings{Seats: c.Seats, MaxWait: c.MaxQueueWait}
	if tel == nil {
		return admission.New(settings)
	}
	settings.Observer = tel.Admission
	l := admission.New(settings)
	if err := tel.Admission.Watch(l); err != nil {
		log.Warn("no metrics of seats and queues", "error", err)
	}
	return l
}

// limits returns the configured limits. The largest number of a type means no limit.
func limits(c *config.Config) placement.Limits {
	out := placement.Limits{
		SnapshotBytes:     c.MaxSnapshotBytes,
		RequestDuration:   c.MaxRequestDuration,
		RequestsPerSecond: c.RateLimitPerSecond,
	}
	if c.MaxReceiveMessageBytes < math.MaxInt32 {
		out.ReceiveMessageBytes = int64(c.MaxReceiveMessageBytes)
	}
	if c.MaxInFlightBytes < math.MaxInt64 {
		out.InFlightBytes = c.MaxInFlightBytes
	}
	return out
}
