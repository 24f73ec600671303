package telemetry_test

import (
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/stowage-scheduler/stowage/server/telemetry"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestDecisionsAreScraped(t *testing.T) {
	tel, err := telemetry.New(t.Context(), "v0")
	if err != nil {
		t.Fatal(err)
	}
	tel.Decisions.Record(t.Context(), telemetry.Decision{
		Method: "Filter", Decode: time.Millisecond, Engine: 2 * time.Second, Encode: time.Microsecond, Nodes: 5000, Feasible: 7,
	})
	families, err := tel.Gatherer().Gather()
	if err != nil {
		t.Fatal(err)
	}
	got := make(map[string]float64) // sums by name and part
	for _, f := range families {
		for _, m := range f.GetMetric() {
			key := f.GetName()
			for _, l := range m.GetLabel() {
				if l.GetName() == "part" {
					key += "/" + l.GetValue()
				}
			}
			got[key] = m.GetHistogram().GetSampleSum()
		}
	}
	for key, want := range map[string]float64{
		"stowage_decision_duration_seconds/decode": .001,
		"stowage_decision_duration_seconds/engine": 2,
		"stowage_decision_duration_seconds/encode": .000001,
		"stowage_decision_nodes":                   5000,
		"stowage_decision_feasible":                7,
	} {
		if got[key] != want {
			t.Errorf("%s is %v, want %v", key, got[key], want)
		}
	}
	if err := tel.Shutdown(t.Context()); err != nil {
		t.Error(err)
	}
}

func TestUnknownExporterIsRefused(t *testing.T) {
	for _, variable := range []string{"OTEL_TRACES_EXPORTER", "OTEL_METRICS_EXPORTER"} {
		t.Run(variable, func(t *testing.T) {
			t.Setenv(variable, "carrier-pigeon")
			if _, err := telemetry.New(t.Context(), "v0"); err == nil {
				t.Error("no error")
			}
		})
	}
}
