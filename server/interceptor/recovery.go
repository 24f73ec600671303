package interceptor

import (
	"context"
	"fmt"
	"log/slog"
	"runtime/debug"

	"github.com/grpc-ecosystem/go-grpc-middleware/v2/interceptors/recovery"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/stowage-scheduler/stowage/server/rpcerror"
)

// recoverCall turns a panic into an INTERNAL error. The log records its cause.
func recoverCall() grpc.UnaryServerInterceptor {
	return recovery.UnaryServerInterceptor(handlePanic)
}

// recoverStream is recoverCall for streams.
func recoverStream() grpc.StreamServerInterceptor {
	return recovery.StreamServerInterceptor(handlePanic)
}

var handlePanic = recovery.WithRecoveryHandler(panicError)

func panicError(panicked any) error {
	return rpcerror.Internal(fmt.Errorf("panic: %v\n%s", panicked, debug.Stack()))
}

// recoverAny is the outermost recovery: it handles panics of the other interceptors and depends on none of them.
func recoverAny(log *slog.Logger) grpc.UnaryServerInterceptor {
	return recovery.UnaryServerInterceptor(logPanic(log))
}

// recoverAnyStream is recoverAny for streams.
func recoverAnyStream(log *slog.Logger) grpc.StreamServerInterceptor {
	return recovery.StreamServerInterceptor(logPanic(log))
}

func logPanic(log *slog.Logger) recovery.Option {
	return recovery.WithRecoveryHandlerContext(func(ctx context.Context, p any) error {
		log.ErrorContext(ctx, "panic in an interceptor", "panic", fmt.Sprint(p), "stack", string(debug.Stack()))
		return status.Error(codes.Internal, rpcerror.InternalMessage)
	})
}
