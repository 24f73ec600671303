// Package telemetry measures and traces through OpenTelemetry.
//
// The standard OTEL_* variables say where traces and metrics are sent; unset, nowhere. Whatever they say, metrics are
// also there to be scraped, from a registry that belongs to the server alone. Attributes are few and of fixed values:
// no node, pod or namespace is named anywhere.
package telemetry

import (
	"context"
	"errors"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"go.opentelemetry.io/contrib/exporters/autoexport"
	"go.opentelemetry.io/contrib/instrumentation/google.golang.org/grpc/otelgrpc"
	"go.opentelemetry.io/contrib/instrumentation/google.golang.org/grpc/otelgrpc/filters"
	otelprometheus "go.opentelemetry.io/otel/exporters/prometheus"
	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/resource"
	"go.opentelemetry.io/otel/sdk/trace"
	semconv "go.opentelemetry.io/otel/semconv/v1.37.0"
	"google.golang.org/grpc/stats"
)

// Telemetry is where the server reports. It is safe for concurrent use.
type Telemetry struct {
	// Decisions are the metrics of decisions.
	Decisions *Decisions
	registry  *prometheus.Registry
	traces    *trace.TracerProvider
	metrics   *metric.MeterProvider
}

// New starts telemetry for a version of the service. The caller must Shutdown it.
func New(ctx context.Context, version string) (*Telemetry, error) {
	about, err := resource.New(ctx,
		resource.WithAttributes(semconv.ServiceName("stowage"), semconv.ServiceVersion(version)),
		resource.WithFromEnv(), // OTEL_SERVICE_NAME and OTEL_RESOURCE_ATTRIBUTES win
		resource.WithTelemetrySDK(),
	)
	if err != nil {
		return nil, err
	}
	tracing := []trace.TracerProviderOption{trace.WithResource(about)}
	spans, err := autoexport.NewSpanExporter(ctx, autoexport.WithFallbackSpanExporter(noSpans))
	if err != nil {
		return nil, err
	}
	if spans != nil {
		tracing = append(tracing, trace.WithBatcher(spans))
	}
	t := &Telemetry{registry: prometheus.NewRegistry(), traces: trace.NewTracerProvider(tracing...)}
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
	sent, err := autoexport.NewMetricReader(ctx, autoexport.WithFallbackMetricReader(noMetrics))
	if err != nil {
		return err
	}
	if sent != nil {
		metering = append(metering, metric.WithReader(sent))
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
		otelgrpc.WithPropagators(propagation.NewCompositeTextMapPropagator(
			propagation.TraceContext{}, propagation.Baggage{})),
		otelgrpc.WithFilter(filters.Not(filters.HealthCheck())),
	)
}

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

// noSpans and noMetrics stand in where no variable names an exporter; the libraries' own defaults would send to
// localhost.
func noSpans(context.Context) (trace.SpanExporter, error) { return nil, nil }

func noMetrics(context.Context) (metric.Reader, error) { return nil, nil }
