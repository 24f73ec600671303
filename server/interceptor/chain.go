package interceptor

import (
	"context"
	"log/slog"
	"strings"
	"time"

	"google.golang.org/grpc"
)

// Named is an interceptor and what it is called. One kind of call may have none.
type Named struct {
	Name   string
	Unary  grpc.UnaryServerInterceptor
	Stream grpc.StreamServerInterceptor
}

// Settings are what the chain needs.
type Settings struct {
	Log *slog.Logger
	// Rate is nil for no limit.
	Rate *RateLimit
	// InFlight must also be a stats handler of the server.
	InFlight *InFlight
	// MaxDuration is the longest that a call is worked on, 0 for no limit.
	MaxDuration time.Duration
}

// Chain returns the interceptors, the outermost first. What comes after the log is logged; what is cheap refuses before
// what is dear; panics of the service, validation and decoding included, are recovered inside, so that the log and the
// metrics see an ordinary error.
func Chain(s Settings) []Named {
	chain := []Named{
		{"recover-any", recoverAny(s.Log), recoverAnyStream(s.Log)},
		{"log", decisions(logCalls(s.Log)), decisionStreams(logStreams(s.Log))},
	}
	if s.Rate != nil {
		chain = append(chain, Named{"rate-limit", decisions(limitRate(s.Rate)), decisionStreams(limitStreamRate(s.Rate))})
	}
	chain = append(chain, Named{"in-flight-limit", decisions(s.InFlight.intercept), decisionStreams(s.InFlight.interceptStream)})
	if s.MaxDuration > 0 {
		chain = append(chain, Named{"deadline", decisions(deadline(s.MaxDuration)), decisionStreams(streamDeadline(s.MaxDuration))})
	}
	return append(chain,
		Named{"recover", decisions(recoverCall()), decisionStreams(recoverStream())},
		Named{Name: "validate", Unary: decisions(validate(newEnvelope()))})
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

// decisions limits an interceptor to the calls that are not gRPC's own services.
func decisions(i grpc.UnaryServerInterceptor) grpc.UnaryServerInterceptor {
	return func(ctx context.Context, r any, info *grpc.UnaryServerInfo, handle grpc.UnaryHandler) (any, error) {
		if !ours(info.FullMethod) {
			return handle(ctx, r)
		}
		return i(ctx, r, info, handle)
	}
}

// decisionStreams is decisions for streams.
func decisionStreams(i grpc.StreamServerInterceptor) grpc.StreamServerInterceptor {
	return func(service any, stream grpc.ServerStream, info *grpc.StreamServerInfo, handle grpc.StreamHandler) error {
		if !ours(info.FullMethod) {
			return handle(service, stream)
		}
		return i(service, stream, info, handle)
	}
}

func ours(method string) bool { return !strings.HasPrefix(method, "/grpc.") }

// deadline ends the context of a call after a while, if its own deadline does not come first.
func deadline(longest time.Duration) grpc.UnaryServerInterceptor {
	return func(ctx context.Context, r any, _ *grpc.UnaryServerInfo, handle grpc.UnaryHandler) (any, error) {
		ctx, cancel := context.WithTimeout(ctx, longest)
		defer cancel()
		return handle(ctx, r)
	}
}

// streamDeadline is deadline for streams. A handler that waits for a message learns of the end at once; one that works is
// waited for, so that what it takes is counted as long as it takes it.
func streamDeadline(longest time.Duration) grpc.StreamServerInterceptor {
	return func(service any, stream grpc.ServerStream, _ *grpc.StreamServerInfo, handle grpc.StreamHandler) error {
		ctx, cancel := context.WithTimeout(stream.Context(), longest)
		defer cancel()
		return handle(service, &limitedWait{stream, ctx})
	}
}
