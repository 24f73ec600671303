package batch

import (
	"testing"

	"go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"
)

// term is a Lease that is held while it is not 0.
type term uint64

func (t *term) Term() uint64 { return uint64(*t) }

func TestLeadingFollowsTheLease(t *testing.T) {
	reader := metric.NewManualReader()
	var held term
	if _, err := newMetrics(metric.NewMeterProvider(metric.WithReader(reader)), newPendingPods(), &held); err != nil {
		t.Fatal(err)
	}
	for of, want := range map[term]int64{0: 0, 1: 1, 7: 1} {
		held = of
		var all metricdata.ResourceMetrics
		if err := reader.Collect(t.Context(), &all); err != nil {
			t.Fatal(err)
		}
		found := false
		for _, m := range all.ScopeMetrics[0].Metrics {
			if gauge, ok := m.Data.(metricdata.Gauge[int64]); ok && m.Name == "stowage.batch.leading" {
				found = true
				if got := gauge.DataPoints[0].Value; got != want {
					t.Errorf("term %d: the gauge is %d, want %d", of, got, want)
				}
			}
		}
		if !found {
			t.Errorf("term %d: there is no gauge", of)
		}
	}
}
