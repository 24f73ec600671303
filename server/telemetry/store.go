package telemetry

import (
	"context"

	"go.opentelemetry.io/otel/attribute"
	metricapi "go.opentelemetry.io/otel/metric"
)

// WatchStore adds the metric of snapshots that a shared store was to keep. The function returns how many it kept, how many it could not
// keep, and how many were dropped before.
func (t *Telemetry) WatchStore(counts func() (kept, failed, dropped int64)) error {
	meter := t.metrics.Meter(scope)
	writes, err := meter.Int64ObservableCounter("stowage.store.writes", metricapi.WithUnit("{snapshot}"),
		metricapi.WithDescription("Snapshots that the shared store was to keep, by result."))
	if err != nil {
		return err
	}
	result := func(r string) metricapi.ObserveOption {
		return metricapi.WithAttributeSet(attribute.NewSet(attribute.String("result", r)))
	}
	k, f, d := result("kept"), result("failed"), result("dropped")
	_, err = meter.RegisterCallback(func(_ context.Context, o metricapi.Observer) error {
		kept, failed, dropped := counts()
		o.ObserveInt64(writes, kept, k)
		o.ObserveInt64(writes, failed, f)
		o.ObserveInt64(writes, dropped, d)
		return nil
	}, writes)
	return err
}
