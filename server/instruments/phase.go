package instruments

import (
	"context"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/trace"
)

// Scope is the instrumentation scope of the server.
const Scope = "github.com/stowage-scheduler/stowage/server"

// Phase adds a part of a call as a child of the call's span, if the span is recorded.
func Phase(ctx context.Context, name string, from, to time.Time, attributes ...attribute.KeyValue) {
	if call := trace.SpanFromContext(ctx); call.IsRecording() {
		_, span := call.TracerProvider().Tracer(Scope).Start(ctx, name, trace.WithTimestamp(from), trace.WithAttributes(attributes...))
		span.End(trace.WithTimestamp(to))
	}
}
