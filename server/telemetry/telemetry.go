// Package telemetry sets up OpenTelemetry metrics, traces and logs.
//
// The standard OTEL_* variables select exporters and propagators. Without them, or with OTEL_SDK_DISABLED, nothing is
// exported. A Prometheus registry of the process's own always serves the metrics to scrapers. Attributes have few, fixed
// values and never the name of a node, pod or namespace.
package telemetry

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"go.opentelemetry.io/contrib/exporters/autoexport"
	"go.opentelemetry.io/contrib/instrumentation/google.golang.org/grpc/otelgrpc"
	"go.opentelemetry.io/contrib/instrumentation/google.golang.org/grpc/otelgrpc/filters"
	"go.opentelemetry.io/contrib/propagators/autoprop"
	"go.opentelemetry.io/otel/attribute"
	otelprometheus "go.opentelemetry.io/otel/exporters/prometheus"
	metricapi "go.opentelemetry.io/otel/metric"
	"go.opentelemetry.io/otel/propagation"
	sdklog "go.opentelemetry.io/otel/sdk/log"
	"go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/resource"
	"go.opentelemetry.io/otel/sdk/trace"
	semconv "go.opentelemetry.io/otel/semconv/v1.37.0"
	"google.golang.org/grpc/stats"

	"github.com/stowage-scheduler/stowage/server/instruments"
)

// Telemetry holds the meter and tracer providers of a process. It is safe for concurrent use.
type Telemetry struct {
	// Decisions are the metrics of decisions.
	Decisions *instruments.Decisions
	// Admission are the metrics of requests that wait or are refused.
	Admission  *instruments.Admission
	registry   *prometheus.Registry
	traces     *trace.TracerProvider
	metrics    *metric.MeterProvider
	logs       *sdklog.LoggerProvider // nil if logs are not exported
	propagator propagation.TextMapPropagator
}

// New starts telemetry for a version of a service. The caller must Shutdown it.
func New(ctx context.Context, service, version string) (*Telemetry, error) {
	res, err := resource.New(ctx,
		resource.WithAttributes(semconv.ServiceName(service), semconv.ServiceVersion(version)),
		resource.WithFromEnv(), // OTEL_SERVICE_NAME and OTEL_RESOURCE_ATTRIBUTES win
		resource.WithTelemetrySDK(),
	)
	if err != nil {
		return nil, err
	}
	// Read here, as the library ignores unknown names in the variable.
	propagator, err := autoprop.TextMapPropagator(
		strings.Split(cmp.Or(os.Getenv("OTEL_PROPAGATORS"), "tracecontext,baggage"), ",")...)
	if err != nil {
		return nil, fmt.Errorf("OTEL_PROPAGATORS: %w", err)
	}
	// Without an exporter calls still have trace IDs, for the log.
	tracing := []trace.TracerProviderOption{trace.WithSampler(trace.NeverSample())}
	if !disabled() {
		spans, err := autoexport.NewSpanExporter(ctx, autoexport.WithFallbackSpanExporter(noSpans))
		if err != nil {
			return nil, fmt.Errorf("OTEL_TRACES_EXPORTER: %w", err)
		}
		if spans != nil {
			tracing = []trace.TracerProviderOption{trace.WithResource(res), trace.WithBatcher(spans)}
		}
	}
	t := &Telemetry{registry: prometheus.NewRegistry(), traces: trace.NewTracerProvider(tracing...), propagator: propagator}
	if err := cmp.Or(t.startMetrics(ctx, res), t.startLogs(ctx, res)); err != nil {
		return nil, errors.Join(err, t.Shutdown(ctx))
	}
	return t, nil
}

func (t *Telemetry) startMetrics(ctx context.Context, res *resource.Resource) error {
	t.registry.MustRegister(collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	reader, err := otelprometheus.New(otelprometheus.WithRegisterer(t.registry), otelprometheus.WithoutScopeInfo())
	if err != nil {
		return err
	}
	metering := []metric.Option{metric.WithResource(res), metric.WithReader(reader)}
	if !disabled() {
		exporter, err := autoexport.NewMetricReader(ctx, autoexport.WithFallbackMetricReader(noMetrics))
		if err != nil {
			return fmt.Errorf("OTEL_METRICS_EXPORTER: %w", err)
		}
		if exporter != nil {
			metering = append(metering, metric.WithReader(exporter))
		}
	}
	t.metrics = metric.NewMeterProvider(metering...)
	if t.Decisions, err = instruments.NewDecisions(t.metrics); err == nil {
		t.Admission, err = instruments.NewAdmission(t.metrics)
	}
	return err
}

// StatsHandler instruments a server's calls, except health checks.
func (t *Telemetry) StatsHandler() stats.Handler {
	return otelgrpc.NewServerHandler(t.grpcOptions()...)
}

// ClientHandler instruments a client's calls, except health checks.
func (t *Telemetry) ClientHandler() stats.Handler {
	return otelgrpc.NewClientHandler(t.grpcOptions()...)
}

func (t *Telemetry) grpcOptions() []otelgrpc.Option {
	return []otelgrpc.Option{
		otelgrpc.WithTracerProvider(t.traces),
		otelgrpc.WithMeterProvider(t.metrics),
		otelgrpc.WithPropagators(t.propagator),
		otelgrpc.WithFilter(filters.Not(filters.HealthCheck())),
	}
}

// Meter creates further metrics.
func (t *Telemetry) Meter() *metric.MeterProvider { return t.metrics }

// WatchLog adds the metric of log lines that were dropped; the function returns their number so far.
func (t *Telemetry) WatchLog(dropped func() int64) error {
	_, err := t.metrics.Meter(instruments.Scope).Int64ObservableCounter("stowage.log.dropped",
		metricapi.WithUnit("{line}"), metricapi.WithDescription("Log lines that were dropped because the log did not take them."),
		metricapi.WithInt64Callback(func(_ context.Context, o metricapi.Int64Observer) error {
			o.Observe(dropped())
			return nil
		}))
	return err
}

// WatchConnections adds the metrics of a listener's connections. The function returns how many are open, and how many were refused
// so far.
func (t *Telemetry) WatchConnections(counts func() (open, refused int64)) error {
	meter := t.metrics.Meter(instruments.Scope)
	open, err := meter.Int64ObservableGauge("stowage.connections.open", metricapi.WithUnit("{connection}"),
		metricapi.WithDescription("Open connections."))
	if err != nil {
		return err
	}
	refused, err := meter.Int64ObservableCounter("stowage.connections.refused", metricapi.WithUnit("{connection}"),
		metricapi.WithDescription("Connections that were closed at once because of max-connections."))
	if err != nil {
		return err
	}
	_, err = meter.RegisterCallback(func(_ context.Context, o metricapi.Observer) error {
		n, m := counts()
		o.ObserveInt64(open, n)
		o.ObserveInt64(refused, m)
		return nil
	}, open, refused)
	return err
}

// Memory is the usage of a kind of memory, its limit, and the number of refusals because of it so far.
type Memory struct {
	Kind                   string
	Bytes, Limit, Refusals int64
}

// WatchMemory adds the metrics of memory. The function returns the same kinds each time.
func (t *Telemetry) WatchMemory(counts func() []Memory) error {
	meter := t.metrics.Meter(instruments.Scope)
	held, err := meter.Int64ObservableGauge("stowage.memory.held", metricapi.WithUnit("By"),
		metricapi.WithDescription("Bytes of connections, of requests that are being received and those in flight, and of answers that are not read."))
	if err != nil {
		return err
	}
	limit, err := meter.Int64ObservableGauge("stowage.memory.limit", metricapi.WithUnit("By"),
		metricapi.WithDescription("Limits of stowage.memory.held."))
	if err != nil {
		return err
	}
	refused, err := meter.Int64ObservableCounter("stowage.memory.refusals", metricapi.WithUnit("{refusal}"),
		metricapi.WithDescription("Calls, answers and connections that were refused because of stowage.memory.limit."))
	if err != nil {
		return err
	}
	var attributes []metricapi.ObserveOption
	for _, m := range counts() {
		attributes = append(attributes, metricapi.WithAttributes(attribute.String("kind", m.Kind)))
	}
	_, err = meter.RegisterCallback(func(_ context.Context, o metricapi.Observer) error {
		for i, m := range counts() {
			o.ObserveInt64(held, m.Bytes, attributes[i])
			o.ObserveInt64(limit, m.Limit, attributes[i])
			o.ObserveInt64(refused, m.Refusals, attributes[i])
		}
		return nil
	}, held, limit, refused)
	return err
}

// Gatherer gathers the metrics to scrape.
func (t *Telemetry) Gatherer() prometheus.Gatherer { return t.registry }

// Shutdown flushes the exporters and stops them.
func (t *Telemetry) Shutdown(ctx context.Context) error {
	err := t.traces.Shutdown(ctx)
	if t.metrics != nil { // nil if New failed before startMetrics created it
		err = errors.Join(err, t.metrics.Shutdown(ctx))
	}
	if t.logs != nil {
		err = errors.Join(err, t.logs.Shutdown(ctx))
	}
	return err
}

// disabled reports whether exporters are disabled. The SDK does not read the variable itself.
func disabled() bool { return strings.EqualFold(os.Getenv("OTEL_SDK_DISABLED"), "true") }

// noSpans and noMetrics replace autoexport's defaults, which export to localhost if no variable names an exporter.
func noSpans(context.Context) (trace.SpanExporter, error) { return nil, nil }

func noMetrics(context.Context) (metric.Reader, error) { return nil, nil }
