package instruments

import (
	"context"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"
	"go.opentelemetry.io/otel/trace"
)

// Decision holds the measurements of one decision.
type Decision struct {
	// Method is the RPC's name: Filter, Score, Place, PlaceStream, Preempt, ScaleDown, WhatIf, Drain, Fit, Provision or
	// Consolidate.
	Method string
	// Decode, Compile, Engine and Encode are the durations of the phases, which follow each other and end at End.
	Decode, Compile, Engine, Encode time.Duration
	End                             time.Time
	// Nodes counts the nodes of the cluster. Feasible counts the feasible nodes, or with Place the placed pods.
	Nodes, Feasible int
	// Scanned counts the pods that Place placed by scanning all nodes.
	Scanned int
}

// Decisions are the metrics of decisions, and their spans within the span of the call.
type Decisions struct {
	duration        metric.Float64Histogram
	nodes, feasible metric.Int64Histogram
	cacheHits       metric.Int64Counter
	scanned         metric.Int64Counter
	byMethod        map[string]*attributes
}

// attributes holds the precomputed attributes of one method.
type attributes struct {
	method, decode, compile, engine, encode metric.MeasurementOption
}

func attributesOf(method string) *attributes {
	named := attribute.String("method", method)
	part := func(name string) metric.MeasurementOption {
		return metric.WithAttributeSet(attribute.NewSet(named, attribute.String("part", name)))
	}
	return &attributes{metric.WithAttributeSet(attribute.NewSet(named)), part("decode"), part("compile"), part("engine"), part("encode")}
}

// NewDecisions creates the metrics.
func NewDecisions(p metric.MeterProvider) (*Decisions, error) {
	meter := p.Meter(Scope)
	d := Decisions{byMethod: map[string]*attributes{}}
	for _, method := range []string{
		"Filter", "Score", "Place", "PlaceStream", "Preempt", "ScaleDown", "WhatIf", "Drain", "Fit", "Provision", "Consolidate",
	} {
		d.byMethod[method] = attributesOf(method)
	}
	var err error
	// Filter takes tens of microseconds on a small cluster, Place of a queue takes seconds on a large one.
	if d.duration, err = meter.Float64Histogram("stowage.decision.duration", metric.WithUnit("s"),
		metric.WithDescription("Duration of a phase of a decision."),
		metric.WithExplicitBucketBoundaries(.00001, .00003, .0001, .0003, .001, .003, .01, .03, .1, .3, 1, 3, 10, 30),
	); err != nil {
		return nil, err
	}
	counts := metric.WithExplicitBucketBoundaries(0, 1, 10, 100, 1e3, 1e4, 1e5, 1e6)
	if d.nodes, err = meter.Int64Histogram("stowage.decision.nodes", metric.WithUnit("{node}"),
		metric.WithDescription("Nodes of the cluster of a decision."), counts); err != nil {
		return nil, err
	}
	if d.feasible, err = meter.Int64Histogram("stowage.decision.feasible", metric.WithUnit("{node}"),
		metric.WithDescription("Feasible nodes; with Place, placed pods."), counts); err != nil {
		return nil, err
	}
	if d.cacheHits, err = meter.Int64Counter("stowage.decision.cache_hits", metric.WithUnit("{decision}"),
		metric.WithDescription("Responses served from a snapshot's cache; they have no durations.")); err != nil {
		return nil, err
	}
	if d.scanned, err = meter.Int64Counter("stowage.place.scanned", metric.WithUnit("{pod}"),
		metric.WithDescription("Pods that Place placed by scanning all nodes, a performance hint.")); err != nil {
		return nil, err
	}
	return &d, nil
}

// CacheHit records a response served from the cache. It does nothing on nil.
func (d *Decisions) CacheHit(ctx context.Context, method string, nodes, feasible int) {
	if d == nil {
		return
	}
	if call := trace.SpanFromContext(ctx); call.IsRecording() {
		call.SetAttributes(attribute.Bool("stowage.cache_hit", true),
			attribute.Int("stowage.nodes", nodes), attribute.Int("stowage.feasible", feasible))
	}
	attrs := d.byMethod[method]
	d.cacheHits.Add(ctx, 1, attrs.method)
	d.nodes.Record(ctx, int64(nodes), attrs.method)
	d.feasible.Record(ctx, int64(feasible), attrs.method)
}

// Record records a decision. It does nothing on nil.
func (d *Decisions) Record(ctx context.Context, m Decision) {
	if d == nil {
		return
	}
	m.spans(ctx)
	attrs := d.byMethod[m.Method]
	d.duration.Record(ctx, m.Decode.Seconds(), attrs.decode)
	d.duration.Record(ctx, m.Compile.Seconds(), attrs.compile)
	d.duration.Record(ctx, m.Engine.Seconds(), attrs.engine)
	d.duration.Record(ctx, m.Encode.Seconds(), attrs.encode)
	d.nodes.Record(ctx, int64(m.Nodes), attrs.method)
	d.feasible.Record(ctx, int64(m.Feasible), attrs.method)
	if m.Scanned > 0 {
		d.scanned.Add(ctx, int64(m.Scanned))
	}
}

// spans adds the phases to the span of the call, if that is recorded.
func (m *Decision) spans(ctx context.Context) {
	call := trace.SpanFromContext(ctx)
	if !call.IsRecording() {
		return
	}
	call.SetAttributes(attribute.Bool("stowage.cache_hit", false), attribute.Int("stowage.nodes", m.Nodes),
		attribute.Int("stowage.feasible", m.Feasible), attribute.Int("stowage.scanned", m.Scanned))
	from := m.End.Add(-m.Decode - m.Compile - m.Engine - m.Encode)
	for _, phase := range []struct {
		name string
		took time.Duration
	}{{"decode", m.Decode}, {"compile", m.Compile}, {"engine", m.Engine}, {"encode", m.Encode}} {
		to := from.Add(phase.took)
		Phase(ctx, phase.name, from, to)
		from = to
	}
}
