package batch

import (
	"context"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"
)

// metrics are the metrics of a Scheduler. Attributes have few values and never name a pod or node.
type metrics struct {
	attempts metric.Int64Counter
	outdated metric.Int64Counter
	dropped  metric.Int64Counter
	placed   metric.Int64Histogram
	steps    metric.Float64Histogram
	waited   metric.Float64Histogram

	preemptions, victims, violations metric.Int64Counter
}

var seconds = metric.WithExplicitBucketBoundaries(.0005, .001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10, 30, 60)

func newMetrics(provider metric.MeterProvider, pending *pendingPods, lease Lease) (*metrics, error) {
	meter := provider.Meter("github.com/stowage-scheduler/stowage/clients/batch")
	m := &metrics{}
	var err error
	if m.attempts, err = meter.Int64Counter("stowage.batch.attempts",
		metric.WithDescription("Attempts to find a node for a pod, by result: bound, unschedulable, gated, error, outdated.")); err != nil {
		return nil, err
	}
	if m.outdated, err = meter.Int64Counter("stowage.batch.outdated",
		metric.WithDescription("Responses dropped because the cluster had changed since the request.")); err != nil {
		return nil, err
	}
	if m.dropped, err = meter.Int64Counter("stowage.batch.dropped",
		metric.WithDescription("Updates dropped because the API server is too slow, by kind: event, status.")); err != nil {
		return nil, err
	}
	if m.placed, err = meter.Int64Histogram("stowage.batch.call.pods", metric.WithDescription("Pods of one call of Place."),
		metric.WithExplicitBucketBoundaries(1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 2000)); err != nil {
		return nil, err
	}
	if m.steps, err = meter.Float64Histogram("stowage.batch.step.duration", metric.WithUnit("s"), seconds,
		metric.WithDescription("Duration of a step: a call of Place, a pod's wait for a binder, a binding, a preemption.")); err != nil {
		return nil, err
	}
	if m.waited, err = meter.Float64Histogram("stowage.batch.pod.duration", metric.WithUnit("s"), seconds,
		metric.WithDescription("Time from a pod's arrival to its binding.")); err != nil {
		return nil, err
	}
	if m.preemptions, err = meter.Int64Counter("stowage.batch.preemptions",
		metric.WithDescription("Preemptions by a pod or a group, by result: evicted, outdated, error.")); err != nil {
		return nil, err
	}
	if m.victims, err = meter.Int64Counter("stowage.batch.victims", metric.WithDescription("Evicted pods.")); err != nil {
		return nil, err
	}
	if m.violations, err = meter.Int64Counter("stowage.batch.violations",
		metric.WithDescription("Victims of preemptions that violated a PodDisruptionBudget.")); err != nil {
		return nil, err
	}
	_, err = meter.Int64ObservableGauge("stowage.batch.pods",
		metric.WithDescription("Pods without a node, by state: waiting, or decided (being placed or bound, or its victims evicted)."),
		metric.WithInt64Callback(func(_ context.Context, o metric.Int64Observer) error {
			waits, taken := pending.counts()
			o.Observe(int64(waits), metric.WithAttributes(attribute.String("state", "waiting")))
			o.Observe(int64(taken), metric.WithAttributes(attribute.String("state", "decided")))
			return nil
		}))
	if err != nil {
		return nil, err
	}
	_, err = meter.Int64ObservableGauge("stowage.batch.leading",
		metric.WithDescription("1 while this replica leads, 0 while another one does or none."),
		metric.WithInt64Callback(func(_ context.Context, o metric.Int64Observer) error {
			leading := int64(0)
			if lease.Term() != 0 {
				leading = 1
			}
			o.Observe(leading)
			return nil
		}))
	return m, err
}

func withResult(result string) metric.MeasurementOption {
	return metric.WithAttributes(attribute.String("result", result))
}

func (m *metrics) drop(what string) {
	m.dropped.Add(context.Background(), 1, metric.WithAttributes(attribute.String("what", what)))
}

func (m *metrics) took(ctx context.Context, step string, begin time.Time) {
	m.steps.Record(ctx, time.Since(begin).Seconds(), metric.WithAttributes(attribute.String("step", step)))
}

func (m *metrics) bound(ctx context.Context, arrived time.Time) {
	m.attempts.Add(ctx, 1, withResult("bound"))
	m.waited.Record(ctx, time.Since(arrived).Seconds())
}
