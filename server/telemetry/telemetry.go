// Package telemetry measures and traces through OpenTelemetry.
//
// The standard OTEL_* variables say where traces and metrics are sent, unset or with OTEL_SDK_DISABLED nowhere, and how
// traces travel. Whatever they say, metrics are also there to be scraped, from a registry that belongs to the server
// alone. Attributes are few and of fixed values:
// no node, pod or namespace is named anywhere.
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
	otelprometheus "go.opentelemetry.io/otel/exporters/prometheus"
	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/resource"
	"go.opentelemetry.io/otel/sdk/trace"
	semconv "go.opentelemetry.io/otel/semconv/v1.37.0"
	"google.golang.org/grpc/stats"
)

// Telemetry is where a process reports. It is safe for concurrent use.
type Telemetry struct {
	// Decisions are the metrics of decisions.
	Decisions *Decisions
	registry  *prometheus.Registry
	traces    *trace.TracerProvider
	metrics   *metric.MeterProvider
	carried   propagation.TextMapPropagator
}

// New starts telemetry for a version of a service. The caller must Shutdown it.
func New(ctx context.Context, service, version string) (*Telemetry, error) {
	about, err := resource.New(ctx,
		resource.WithAttributes(semconv.ServiceName(service), semconv.ServiceVersion(version)),
		resource.WithFromEnv(), // OTEL_SERVICE_NAME and OTEL_RESOURCE_ATTRIBUTES win
		resource.WithTelemetrySDK(),
	)
	if err != nil {
		return nil, err
	}
	// The library's own reading of the variable goes on without a propagator that it does not know.
	carried, err := autoprop.TextMapPropagator(
		strings.Split(cmp.Or(os.Getenv("OTEL_PROPAGATORS"), "tracecontext,baggage"), ",")...)
	if err != nil {
		return nil, fmt.Errorf("OTEL_PROPAGATORS: %w", err)
	}
	// Where spans go nowhere, calls still have trace IDs, for the log.
	tracing := []trace.TracerProviderOption{trace.WithSampler(trace.NeverSample())}
	if !disabled() {
		spans, err := autoexport.NewSpanExporter(ctx, autoexport.WithFallbackSpanExporter(noSpans))
		if err != nil {
			return nil, fmt.Errorf("OTEL_TRACES_EXPORTER: %w", err)
		}
		if spans != nil {
			tracing = []trace.TracerProviderOption{trace.WithResource(about), trace.WithBatcher(spans)}
		}
	}
	t := &Telemetry{registry: prometheus.NewRegistry(), traces: trace.NewTracerProvider(tracing...), carried: carried}
	if err := t.startMetrics(ctx, about); err != nil {
		return nil, errors.Join(err, t.Shutdown(ctx))
	}
	return t, nil
}

func (t *Telemetry) startMetrics(ctx context.Context, about *resource.Resource) error {
	t.registry.MustRegister(collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	scraped, err := otelprometheus.New(otelprometheus.WithRegisterer(t.registry), otelprometheus.WithoutScopeInfo())
	if err != nil {
		return err
	}
	metering := []metric.Option{metric.WithResource(about), metric.WithReader(scraped)}
	if !disabled() {
		sent, err := autoexport.NewMetricReader(ctx, autoexport.WithFallbackMetricReader(noMetrics))
		if err != nil {
			return fmt.Errorf("OTEL_METRICS_EXPORTER: %w", err)
		}
		if sent != nil {
			metering = append(metering, metric.WithReader(sent))
		}
	}
	t.metrics = metric.NewMeterProvider(metering...)
	t.Decisions, err = newDecisions(t.metrics)
	return err
}

// StatsHandler traces and measures calls, health checks left out.
func (t *Telemetry) StatsHandler() stats.Handler {
	return otelgrpc.NewServerHandler(
		otelgrpc.WithTracerProvider(t.traces),
		otelgrpc.WithMeterProvider(t.metrics),
		otelgrpc.WithPropagators(t.carried),
		otelgrpc.WithFilter(filters.Not(filters.HealthCheck())),
	)
}

// ClientHandler traces and measures calls that a client makes.
func (t *Telemetry) ClientHandler() stats.Handler {
	return otelgrpc.NewClientHandler(
		otelgrpc.WithTracerProvider(t.traces),
		otelgrpc.WithMeterProvider(t.metrics),
		otelgrpc.WithPropagators(t.carried),
		otelgrpc.WithFilter(filters.Not(filters.HealthCheck())),
	)
}

// Meter is for metrics of others.
func (t *Telemetry) Meter() *metric.MeterProvider { return t.metrics }

// Gatherer is what is scraped.
func (t *Telemetry) Gatherer() prometheus.Gatherer { return t.registry }

// Shutdown sends what has not been sent yet and ends telemetry.
func (t *Telemetry) Shutdown(ctx context.Context) error {
	err := t.traces.Shutdown(ctx)
	if t.metrics != nil { // nil if New failed before it was there
		err = errors.Join(err, t.metrics.Shutdown(ctx))
	}
	return err
}

// disabled says whether nothing is to be sent. The SDK does not read the variable itself.
func disabled() bool { return strings.EqualFold(os.Getenv("OTEL_SDK_DISABLED"), "true") }

// noSpans and noMetrics stand in where no variable names an exporter; the libraries' own defaults would send to
// localhost.
func noSpans(context.Context) (trace.SpanExporter, error) { return nil, nil }

func noMetrics(context.Context) (metric.Reader, error) { return nil, nil }
