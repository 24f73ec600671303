package extender

import (
	"context"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"
	"go.opentelemetry.io/otel/metric/noop"
)

// metrics are the extender's metrics. Attributes have few values and never name a pod or node.
type metrics struct {
	duration                      metric.Float64Histogram
	requests, evaluations, binds  metric.Int64Counter
	outcomes, bindsByOthersNumber metric.Int64Counter
	connections                   metric.Int64Counter
}

func newMetrics(p metric.MeterProvider) (*metrics, error) {
	if p == nil {
		p = noop.NewMeterProvider()
	}
	meter := p.Meter("github.com/stowage-scheduler/stowage/clients/extender")
	m := &metrics{}
	var err error
	if m.duration, err = meter.Float64Histogram("stowage.extender.duration", metric.WithUnit("s"),
		metric.WithDescription("Duration of a verb, and of its parts: Stowage, the API server, waiting for binds."),
		metric.WithExplicitBucketBoundaries(.0001, .0003, .001, .003, .01, .03, .1, .3, 1, 3, 10)); err != nil {
		return nil, err
	}
	for _, c := range []struct {
		to                *metric.Int64Counter
		name, unit, about string
	}{
		{&m.requests, "stowage.extender.requests", "{request}", "Requests by verb and result."},
		{&m.evaluations, "stowage.extender.evaluations", "{evaluation}", "Evaluations of a pod: by Stowage, or shared with an earlier verb."},
		{&m.binds, "stowage.extender.binds", "{pod}", "Bind requests by result: bound, refused after a change, fenced without kube-scheduler's lease, failed, or unclear."},
		{&m.outcomes, "stowage.extender.outcomes", "{wait}", "Waits of filter for the binds of earlier pods, by result."},
		{&m.bindsByOthersNumber, "stowage.extender.foreign_binds", "{pod}", "Pods decided here and bound by others, which makes decisions unreliable."},
		{&m.connections, "stowage.extender.connections", "{connection}", "Opened connections; kube-scheduler uses each for many requests."},
	} {
		if *c.to, err = meter.Int64Counter(c.name, metric.WithUnit(c.unit), metric.WithDescription(c.about)); err != nil {
			return nil, err
		}
	}
	return m, nil
}

type verbKey struct{}

// withVerb sets the verb of the measurements in a context.
func withVerb(ctx context.Context, verb string) context.Context {
	return context.WithValue(ctx, verbKey{}, verb)
}

func (m *metrics) part(ctx context.Context, part string, began time.Time) {
	verb, _ := ctx.Value(verbKey{}).(string)
	m.duration.Record(ctx, time.Since(began).Seconds(), metric.WithAttributeSet(attribute.NewSet(
		attribute.String("verb", verb), attribute.String("part", part))))
}

func (m *metrics) done(ctx context.Context, verb, result string, began time.Time) {
	m.part(ctx, "total", began)
	m.requests.Add(ctx, 1, metric.WithAttributeSet(attribute.NewSet(
		attribute.String("verb", verb), attribute.String("result", result))))
}

func (m *metrics) waited(ctx context.Context, began time.Time, settled bool) {
	m.part(ctx, "wait", began)
	m.outcomes.Add(ctx, 1, withAttribute("in_time", map[bool]string{true: "yes", false: "no"}[settled]))
}

func (m *metrics) evaluated(ctx context.Context) {
	m.evaluations.Add(ctx, 1, withAttribute("by", "stowage"))
}
func (m *metrics) shared(ctx context.Context) {
	m.evaluations.Add(ctx, 1, withAttribute("by", "shared"))
}
func (m *metrics) bound(ctx context.Context, result string) {
	m.binds.Add(ctx, 1, withAttribute("result", result))
}
func (m *metrics) connected(ctx context.Context) { m.connections.Add(ctx, 1) }
func (m *metrics) foreign(ctx context.Context)   { m.bindsByOthersNumber.Add(ctx, 1) }

func withAttribute(key, value string) metric.MeasurementOption {
	return metric.WithAttributeSet(attribute.NewSet(attribute.String(key, value)))
}
