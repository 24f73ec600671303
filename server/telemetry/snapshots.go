package telemetry

import (
	"context"

	metricapi "go.opentelemetry.io/otel/metric"

	"github.com/stowage-scheduler/stowage/server/instruments"
)

// WatchSnapshots adds the metrics of kept snapshots, whose counts the function returns.
func (t *Telemetry) WatchSnapshots(counts func() instruments.Snapshots) error {
	meter := t.metrics.Meter(instruments.Scope)
	kept, err := meter.Int64ObservableGauge("stowage.snapshots.kept", metricapi.WithUnit("{snapshot}"),
		metricapi.WithDescription("Snapshots that are kept."))
	if err != nil {
		return err
	}
	held, err := meter.Int64ObservableGauge("stowage.snapshots.held", metricapi.WithUnit("By"),
		metricapi.WithDescription("Bytes of kept snapshots and of the answers that are remembered with them."))
	if err != nil {
		return err
	}
	limit, err := meter.Int64ObservableGauge("stowage.snapshots.limit", metricapi.WithUnit("By"),
		metricapi.WithDescription("Limit of stowage.snapshots.held."))
	if err != nil {
		return err
	}
	evicted, err := meter.Int64ObservableCounter("stowage.snapshots.evictions", metricapi.WithUnit("{snapshot}"),
		metricapi.WithDescription("Snapshots that were evicted because others needed room."))
	if err != nil {
		return err
	}
	_, err = meter.RegisterCallback(func(_ context.Context, o metricapi.Observer) error {
		now := counts()
		o.ObserveInt64(kept, now.Kept)
		o.ObserveInt64(held, now.Bytes)
		o.ObserveInt64(limit, now.Limit)
		o.ObserveInt64(evicted, now.Evicted)
		return nil
	}, kept, held, limit, evicted)
	return err
}
