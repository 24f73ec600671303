package interceptor

import (
	"context"
	"errors"
	"log/slog"
	"slices"

	"github.com/grpc-ecosystem/go-grpc-middleware/v2/interceptors/logging"
	"go.opentelemetry.io/otel/trace"
	"google.golang.org/grpc"
)

// logCalls logs each call when it is finished: method, code, duration, peer, bytes, trace, and the cause of an internal
// error. Nothing of what a request says is logged; the text of an answer may quote it and stays out.
func logCalls(log *slog.Logger) grpc.UnaryServerInterceptor {
	return logging.UnaryServerInterceptor(logger(log), logOptions...)
}

// logStreams is logCalls for streams.
func logStreams(log *slog.Logger) grpc.StreamServerInterceptor {
	return logging.StreamServerInterceptor(logger(log), logOptions...)
}

func logger(log *slog.Logger) logging.Logger {
	write := func(ctx context.Context, level logging.Level, message string, fields ...any) {
		if i := slices.Index(fields, any("grpc.error")); i >= 0 { // the library has no option for it
			fields = slices.Delete(fields, i, i+2)
		}
		log.Log(ctx, slog.Level(level), message, fields...)
	}
	return logging.LoggerFunc(write)
}

var logOptions = []logging.Option{
	logging.WithLogOnEvents(logging.FinishCall),
	logging.WithFieldsFromContext(func(ctx context.Context) logging.Fields {
		fields := logging.Fields{"bytes", received(ctx)}
		if s := trace.SpanContextFromContext(ctx); s.HasTraceID() {
			fields = append(fields, "trace_id", s.TraceID().String())
		}
		return fields
	}),
	logging.WithErrorFields(func(err error) logging.Fields {
		if cause := errors.Unwrap(err); cause != nil {
			return logging.Fields{"cause", cause.Error()}
		}
		return nil
	}),
}
