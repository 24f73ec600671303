package instruments

import (
	"context"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"

	"github.com/stowage-scheduler/stowage/server/admission"
)

// Admission are the metrics of requests that wait for their turn or are refused. It implements admission.Observer.
type Admission struct {
	wait     metric.Float64Histogram
	refusals metric.Int64Counter
	reasons  [admission.Reasons]metric.MeasurementOption
	watch    func(*admission.Limiter) error
}

// NewAdmission creates the metrics.
func NewAdmission(p metric.MeterProvider) (*Admission, error) {
	meter := p.Meter(Scope)
	var a Admission
	for r := range a.reasons {
		a.reasons[r] = metric.WithAttributeSet(attribute.NewSet(attribute.String("reason", admission.Reason(r).String())))
	}
	var err error
	if a.wait, err = meter.Float64Histogram("stowage.admission.wait", metric.WithUnit("s"),
		metric.WithDescription("Time that requests waited for a seat; requests that got a seat at once are not counted."),
		metric.WithExplicitBucketBoundaries(.0003, .001, .003, .01, .03, .1, .3, 1, 3, 10),
	); err != nil {
		return nil, err
	}
	if a.refusals, err = meter.Int64Counter("stowage.admission.refusals", metric.WithUnit("{request}"),
		metric.WithDescription("Requests refused because they could not be answered in time, by reason.")); err != nil {
		return nil, err
	}
	used, err := meter.Int64ObservableGauge("stowage.admission.seats_in_use", metric.WithUnit("{request}"),
		metric.WithDescription("Requests that compute."))
	if err != nil {
		return nil, err
	}
	queued, err := meter.Int64ObservableGauge("stowage.admission.queued", metric.WithUnit("{request}"),
		metric.WithDescription("Requests that wait for a seat, those included that gave it to others."))
	if err != nil {
		return nil, err
	}
	a.watch = func(l *admission.Limiter) error {
		_, err := meter.RegisterCallback(func(_ context.Context, o metric.Observer) error {
			seats, waiting := l.Load()
			o.ObserveInt64(used, int64(seats))
			o.ObserveInt64(queued, int64(waiting))
			return nil
		}, used, queued)
		return err
	}
	return &a, nil
}

// Watch reports the seats and queues of a limiter.
func (a *Admission) Watch(l *admission.Limiter) error { return a.watch(l) }

// Waited implements admission.Observer. The wait is also a span of the call, if that is recorded.
func (a *Admission) Waited(ctx context.Context, d time.Duration) {
	a.wait.Record(ctx, d.Seconds())
	now := time.Now()
	Phase(ctx, "wait", now.Add(-d), now)
}

// Refused implements admission.Observer.
func (a *Admission) Refused(ctx context.Context, r admission.Reason) {
	a.refusals.Add(ctx, 1, a.reasons[r])
}
