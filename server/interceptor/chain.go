package interceptor

import (
	"context"
	"log/slog"
	"strings"
	"time"

	"google.golang.org/grpc"
)

// Named is an interceptor with a name for tests. Stream is nil if it applies to unary calls only.
type Named struct {
	Name   string
	Unary  grpc.UnaryServerInterceptor
	Stream grpc.StreamServerInterceptor
}

// Settings configures the chain.
type Settings struct {
	Log *slog.Logger
	// Rate is nil for no limit.
	Rate *RateLimit
	// InFlight must also be a stats handler of the server.
	InFlight *InFlight
	// MaxDuration bounds the handling of a call; 0 means no limit.
	MaxDuration time.Duration
}

// Chain returns the interceptors, outermost first. The log records the outcome of all inner interceptors; cheap checks
// precede expensive ones, and all precede decoding. The inner recovery covers decoding and the service, so log and metrics see its
// panics as INTERNAL errors.
func Chain(s Settings) []Named {
	chain := []Named{
		{"recover-any", recoverAny(s.Log), recoverAnyStream(s.Log)},
		{"log", placementOnly(logCalls(s.Log)), placementStreamsOnly(logStreams(s.Log))},
	}
	if s.Rate != nil {
		chain = append(chain,
			Named{"rate-limit", placementOnly(limitRate(s.Rate)), placementStreamsOnly(limitStreamRate(s.Rate))})
	}
	chain = append(chain,
		Named{"in-flight-limit", placementOnly(s.InFlight.intercept), placementStreamsOnly(s.InFlight.interceptStream)})
	if s.MaxDuration > 0 {
		chain = append(chain,
			Named{"deadline", placementOnly(deadline(s.MaxDuration)), placementStreamsOnly(streamDeadline(s.MaxDuration))})
	}
	return append(chain,
		Named{"answer-size", placementOnly(boundAnswer()), placementStreamsOnly(boundMessages())},
		Named{"recover", placementOnly(recoverCall()), placementStreamsOnly(recoverStream())})
}

// Unary is a chain for grpc.ChainUnaryInterceptor.
func Unary(chain []Named) []grpc.UnaryServerInterceptor {
	out := make([]grpc.UnaryServerInterceptor, len(chain))
	for i, n := range chain {
		out[i] = n.Unary
	}
	return out
}

// Stream is a chain for grpc.ChainStreamInterceptor.
func Stream(chain []Named) []grpc.StreamServerInterceptor {
	var out []grpc.StreamServerInterceptor
	for _, n := range chain {
		if n.Stream != nil {
			out = append(out, n.Stream)
		}
	}
	return out
}

// placementOnly skips an interceptor for gRPC's own services (health, reflection).
func placementOnly(i grpc.UnaryServerInterceptor) grpc.UnaryServerInterceptor {
	return func(ctx context.Context, r any, info *grpc.UnaryServerInfo, handle grpc.UnaryHandler) (any, error) {
		if isBuiltin(info.FullMethod) {
			return handle(ctx, r)
		}
		return i(ctx, r, info, handle)
	}
}

// placementStreamsOnly is placementOnly for streams.
func placementStreamsOnly(i grpc.StreamServerInterceptor) grpc.StreamServerInterceptor {
	return func(service any, stream grpc.ServerStream, info *grpc.StreamServerInfo, handle grpc.StreamHandler) error {
		if isBuiltin(info.FullMethod) {
			return handle(service, stream)
		}
		return i(service, stream, info, handle)
	}
}

func isBuiltin(method string) bool { return strings.HasPrefix(method, "/grpc.") }

// deadline bounds the context of a call by limit. An earlier deadline of the caller stands.
func deadline(limit time.Duration) grpc.UnaryServerInterceptor {
	return func(ctx context.Context, r any, _ *grpc.UnaryServerInfo, handle grpc.UnaryHandler) (any, error) {
		ctx, cancel := context.WithTimeout(ctx, limit)
		defer cancel()
		return handle(ctx, r)
	}
}

// streamDeadline is deadline for streams. It ends a pending RecvMsg or SendMsg at once. It waits for a handler that is
// computing, so the in-flight limit counts the handler's bytes until it returns.
func streamDeadline(limit time.Duration) grpc.StreamServerInterceptor {
	return func(service any, stream grpc.ServerStream, _ *grpc.StreamServerInfo, handle grpc.StreamHandler) error {
		ctx, cancel := context.WithTimeout(stream.Context(), limit)
		defer cancel()
		return handle(service, &deadlineStream{stream, ctx})
	}
}
