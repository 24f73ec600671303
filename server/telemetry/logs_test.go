package telemetry_test

import (
	"bytes"
	"context"
	"log/slog"
	"strings"
	"testing"

	"go.opentelemetry.io/contrib/exporters/autoexport"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/log"
	sdklog "go.opentelemetry.io/otel/sdk/log"
	"go.opentelemetry.io/otel/trace"

	"github.com/stowage-scheduler/stowage/server/telemetry"
)

// kept is an exporter that keeps what it is given.
type kept struct{ records []sdklog.Record }

func (k *kept) Export(_ context.Context, records []sdklog.Record) error {
	for i := range records {
		k.records = append(k.records, records[i].Clone())
	}
	return nil
}

func (*kept) Shutdown(context.Context) error   { return nil }
func (*kept) ForceFlush(context.Context) error { return nil }

// TestLogsAreExported expects the lines of a log, no more and no fewer, where they were written and at the exporter that the variable
// names, with the trace of their call.
func TestLogsAreExported(t *testing.T) {
	exporter := &kept{}
	autoexport.RegisterLogExporter("kept", func(context.Context) (sdklog.Exporter, error) { return exporter, nil })
	t.Setenv("OTEL_LOGS_EXPORTER", "kept")
	tel, err := telemetry.New(t.Context(), "stowage", "v0")
	if err != nil {
		t.Fatal(err)
	}
	var text bytes.Buffer
	lines := tel.Log(slog.New(slog.NewTextHandler(&text, nil)))
	call := trace.NewSpanContext(trace.SpanContextConfig{TraceID: trace.TraceID{1}, SpanID: trace.SpanID{2}})
	ctx := trace.ContextWithSpanContext(t.Context(), call)
	lines.DebugContext(ctx, "too fine")
	lines.With("caller", "a").WithGroup("grpc").WarnContext(ctx, "refused call", "code", 7)
	lines.Info("serving")
	if err := tel.Shutdown(t.Context()); err != nil {
		t.Fatal(err)
	}
	if got := text.String(); strings.Count(got, "\n") != 2 || !strings.Contains(got, `level=WARN msg="refused call" caller=a grpc.code=7`) {
		t.Errorf("the log is\n%s", got)
	}
	if len(exporter.records) != 2 {
		t.Fatalf("%d lines are exported", len(exporter.records))
	}
	first := exporter.records[0]
	attributes := map[string]string{}
	first.WalkAttributes(func(a attribute.KeyValue) bool {
		attributes[string(a.Key)] = a.Value.String()
		return true
	})
	name, _ := first.Resource().Set().Value("service.name")
	if first.Body().AsString() != "refused call" || first.Severity() != log.SeverityWarn || first.TraceID() != call.TraceID() ||
		attributes["caller"] != "a" || !strings.Contains(attributes["grpc"], "7") || name.AsString() != "stowage" {
		t.Errorf("the first line is %v %v %v %v of %v", first.Body(), first.Severity(), first.TraceID(), attributes, name)
	}
}

// TestLogStaysItself expects the very log that is given where no exporter is named.
func TestLogStaysItself(t *testing.T) {
	tel, err := telemetry.New(t.Context(), "stowage", "v0")
	if err != nil {
		t.Fatal(err)
	}
	if log := slog.New(slog.DiscardHandler); tel.Log(log) != log {
		t.Error("the log is another one")
	}
	if err := tel.Shutdown(t.Context()); err != nil {
		t.Error(err)
	}
}
