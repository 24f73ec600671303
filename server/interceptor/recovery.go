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

// recoverCall answers a panic of the service as an internal error, whose cause the log writes.
func recoverCall() grpc.UnaryServerInterceptor {
	return recovery.UnaryServerInterceptor(internal)
}

// recoverStream is recoverCall for streams.
func recoverStream() grpc.StreamServerInterceptor { return recovery.StreamServerInterceptor(internal) }

var internal = recovery.WithRecoveryHandler(internalError)

func internalError(panicked any) error {
	return rpcerror.Internal(fmt.Errorf("panic: %v\n%s", panicked, debug.Stack()))
}

// recoverAny answers a panic of the other interceptors, and depends on none of them.
func recoverAny(log *slog.Logger) grpc.UnaryServerInterceptor {
	return recovery.UnaryServerInterceptor(anyHandler(log))
}

// recoverAnyStream is recoverAny for streams.
func recoverAnyStream(log *slog.Logger) grpc.StreamServerInterceptor {
	return recovery.StreamServerInterceptor(anyHandler(log))
}

func anyHandler(log *slog.Logger) recovery.Option {
	return recovery.WithRecoveryHandlerContext(func(ctx context.Context, p any) error {
		log.ErrorContext(ctx, "panic outside the service", "panic", fmt.Sprint(p), "stack", string(debug.Stack()))
		return status.Error(codes.Internal, "the server failed, its log tells why")
	})
}
