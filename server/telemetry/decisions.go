package telemetry

import (
	"context"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"
)

// Decision is what is measured of one decision.
type Decision struct {
	// Method is the RPC's name, one of those that decide.
	Method string
	// Decode, Engine and Encode are how long the parts took.
	Decode, Engine, Encode time.Duration
	// Nodes are the cluster's; Feasible those that can take the pod, or with Place the pods that got a node.
	Nodes, Feasible int
	// Scanned are the pods for which Place asked about every node.
	Scanned int
}

// Decisions are the metrics of decisions.
type Decisions struct {
	duration        metric.Float64Histogram
	nodes, feasible metric.Int64Histogram
	remembered      metric.Int64Counter
	scanned         metric.Int64Counter
	of              map[string]*attributes
}

// attributes are those of one method's measurements, made once.
type attributes struct {
	method, decode, engine, encode metric.MeasurementOption
}

func attributesOf(method string) *attributes {
	named := attribute.String("method", method)
	part := func(name string) metric.MeasurementOption {
		return metric.WithAttributeSet(attribute.NewSet(named, attribute.String("part", name)))
	}
	return &attributes{metric.WithAttributeSet(attribute.NewSet(named)), part("decode"), part("engine"), part("encode")}
}

func newDecisions(p metric.MeterProvider) (*Decisions, error) {
	meter := p.Meter("github.com/stowage-scheduler/stowage/server")
	d := Decisions{of: map[string]*attributes{}}
	for _, method := range []string{"Filter", "Score", "Place", "PlaceStream", "ScaleDown"} {
		d.of[method] = attributesOf(method)
	}
	var err error
	// A filter of a small cluster takes tens of microseconds, a queue over a large one seconds.
	if d.duration, err = meter.Float64Histogram("stowage.decision.duration", metric.WithUnit("s"),
		metric.WithDescription("Time that a part of a decision took."),
		metric.WithExplicitBucketBoundaries(.00001, .00003, .0001, .0003, .001, .003, .01, .03, .1, .3, 1, 3, 10, 30),
	); err != nil {
		return nil, err
	}
	counts := metric.WithExplicitBucketBoundaries(0, 1, 10, 100, 1e3, 1e4, 1e5, 1e6)
	if d.nodes, err = meter.Int64Histogram("stowage.decision.nodes", metric.WithUnit("{node}"),
		metric.WithDescription("Nodes of the cluster that was decided on."), counts); err != nil {
		return nil, err
	}
	if d.feasible, err = meter.Int64Histogram("stowage.decision.feasible", metric.WithUnit("{node}"),
		metric.WithDescription("Feasible nodes; with Place, pods that got a node."), counts); err != nil {
		return nil, err
	}
	if d.remembered, err = meter.Int64Counter("stowage.decision.remembered", metric.WithUnit("{decision}"),
		metric.WithDescription("Answers that a snapshot was asked for before; they have no durations.")); err != nil {
		return nil, err
	}
	if d.scanned, err = meter.Int64Counter("stowage.place.scanned", metric.WithUnit("{pod}"),
		metric.WithDescription("Pods for which Place asked about every node, as nothing faster is known for them.")); err != nil {
		return nil, err
	}
	return &d, nil
}

// Remembered records an answer that was given before; on nil it does nothing.
func (d *Decisions) Remembered(ctx context.Context, method string, nodes, feasible int) {
	if d == nil {
		return
	}
	of := d.of[method]
	d.remembered.Add(ctx, 1, of.method)
	d.nodes.Record(ctx, int64(nodes), of.method)
	d.feasible.Record(ctx, int64(feasible), of.method)
}

// Record records a decision; on nil it does nothing.
func (d *Decisions) Record(ctx context.Context, m Decision) {
	if d == nil {
		return
	}
	of := d.of[m.Method]
	d.duration.Record(ctx, m.Decode.Seconds(), of.decode)
	d.duration.Record(ctx, m.Engine.Seconds(), of.engine)
	d.duration.Record(ctx, m.Encode.Seconds(), of.encode)
	d.nodes.Record(ctx, int64(m.Nodes), of.method)
	d.feasible.Record(ctx, int64(m.Feasible), of.method)
	if m.Scanned > 0 {
		d.scanned.Add(ctx, int64(m.Scanned))
	}
}
