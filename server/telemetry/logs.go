package telemetry

import (
	"context"
	"fmt"
	"log/slog"

	"go.opentelemetry.io/contrib/bridges/otelslog"
	"go.opentelemetry.io/contrib/exporters/autoexport"
	sdklog "go.opentelemetry.io/otel/sdk/log"
	"go.opentelemetry.io/otel/sdk/resource"
)

// startLogs starts the configured exporter of logs. Its queue is bounded: lines that are not exported in time are lost, and the
// exporter stalls no call.
func (t *Telemetry) startLogs(ctx context.Context, res *resource.Resource) error {
	if disabled() {
		return nil
	}
	exporter, err := autoexport.NewLogExporter(ctx, autoexport.WithFallbackLogExporter(noLogs))
	if err != nil {
		return fmt.Errorf("OTEL_LOGS_EXPORTER: %w", err)
	}
	if exporter != nil {
		t.logs = sdklog.NewLoggerProvider(sdklog.WithResource(res), sdklog.WithProcessor(sdklog.NewBatchProcessor(exporter)))
	}
	return nil
}

// Log returns a logger whose lines go to log, and are exported where OTEL_LOGS_EXPORTER names an exporter. A line of a call has the
// call's trace.
func (t *Telemetry) Log(log *slog.Logger) *slog.Logger {
	if t.logs == nil {
		return log
	}
	exported := otelslog.NewHandler("github.com/stowage-scheduler/stowage", otelslog.WithLoggerProvider(t.logs))
	return slog.New(slog.NewMultiHandler(log.Handler(), enabledAs{exported, log.Handler()}))
}

// enabledAs is a handler of the levels that another one has.
type enabledAs struct {
	slog.Handler
	other slog.Handler
}

// Enabled implements slog.Handler.
func (h enabledAs) Enabled(ctx context.Context, level slog.Level) bool {
	return h.other.Enabled(ctx, level)
}

// WithAttrs implements slog.Handler.
func (h enabledAs) WithAttrs(attrs []slog.Attr) slog.Handler {
	return enabledAs{h.Handler.WithAttrs(attrs), h.other}
}

// WithGroup implements slog.Handler.
func (h enabledAs) WithGroup(name string) slog.Handler {
	return enabledAs{h.Handler.WithGroup(name), h.other}
}

// noLogs replaces autoexport's default, which exports to localhost if no variable names an exporter.
func noLogs(context.Context) (sdklog.Exporter, error) { return nil, nil }
