package telemetry_test

import (
	"strings"
	"testing"
	"time"

	"go.opentelemetry.io/otel/trace"
	"go.uber.org/goleak"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/stats"

	"github.com/stowage-scheduler/stowage/server/instruments"
	"github.com/stowage-scheduler/stowage/server/telemetry"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestDecisionsAreScraped(t *testing.T) {
	tel, err := telemetry.New(t.Context(), "stowage", "v0")
	if err != nil {
		t.Fatal(err)
	}
	tel.Decisions.Record(t.Context(), instruments.Decision{
		Method: "Filter", Decode: time.Millisecond, Engine: 2 * time.Second, Encode: time.Microsecond, Nodes: 5000,
		Feasible: 7, Scanned: 5,
	})
	tel.Decisions.CacheHit(t.Context(), "Filter", 4, 3)
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
			got[key] = m.GetHistogram().GetSampleSum() + m.GetCounter().GetValue()
		}
	}
	for key, want := range map[string]float64{
		"stowage_decision_duration_seconds/decode": .001,
		"stowage_decision_duration_seconds/engine": 2,
		"stowage_decision_duration_seconds/encode": .000001,
		"stowage_decision_nodes":                   5000 + 4,
		"stowage_decision_feasible":                7 + 3,
		"stowage_decision_cache_hits_total":        1,
		"stowage_place_scanned_total":              5,
	} {
		if got[key] != want {
			t.Errorf("%s is %v, want %v", key, got[key], want)
		}
	}
	if err := tel.Shutdown(t.Context()); err != nil {
		t.Error(err)
	}
}

func TestUnknownNamesAreRefused(t *testing.T) {
	for _, variable := range []string{"OTEL_TRACES_EXPORTER", "OTEL_METRICS_EXPORTER", "OTEL_LOGS_EXPORTER", "OTEL_PROPAGATORS"} {
		t.Run(variable, func(t *testing.T) {
			t.Setenv(variable, "carrier-pigeon")
			if _, err := telemetry.New(t.Context(), "stowage", "v0"); err == nil || !strings.HasPrefix(err.Error(), variable+": ") {
				t.Errorf("the error is %v", err)
			}
		})
	}
}

func TestDisabledLooksForNoExporter(t *testing.T) {
	t.Setenv("OTEL_SDK_DISABLED", "true")
	t.Setenv("OTEL_TRACES_EXPORTER", "carrier-pigeon")
	t.Setenv("OTEL_METRICS_EXPORTER", "carrier-pigeon")
	t.Setenv("OTEL_LOGS_EXPORTER", "carrier-pigeon")
	tel, err := telemetry.New(t.Context(), "stowage", "v0")
	if err != nil {
		t.Fatal(err)
	}
	if err := tel.Shutdown(t.Context()); err != nil {
		t.Error(err)
	}
}

// TestPropagators: only the headers of OTEL_PROPAGATORS carry the trace ID.
func TestPropagators(t *testing.T) {
	const traceID = "0af7651916cd43dd8448eb211c80319c"
	headers := map[string]metadata.MD{
		"tracecontext": metadata.Pairs("traceparent", "00-"+traceID+"-b7ad6b7169203331-01"),
		"b3":           metadata.Pairs("b3", traceID+"-b7ad6b7169203331-1"),
	}
	for variable, carrier := range map[string]string{"": "tracecontext", "tracecontext": "tracecontext", "b3": "b3"} {
		t.Run("OTEL_PROPAGATORS="+variable, func(t *testing.T) {
			t.Setenv("OTEL_PROPAGATORS", variable)
			tel, err := telemetry.New(t.Context(), "stowage", "v0")
			if err != nil {
				t.Fatal(err)
			}
			handler := tel.StatsHandler()
			for name, md := range headers {
				ctx := handler.TagRPC(metadata.NewIncomingContext(t.Context(), md),
					&stats.RPCTagInfo{FullMethodName: "/stowage.v1.PlacementService/Filter"})
				got := trace.SpanContextFromContext(ctx).TraceID().String()
				if (got == traceID) != (name == carrier) {
					t.Errorf("the trace in %s is %s", name, got)
				}
			}
			if err := tel.Shutdown(t.Context()); err != nil {
				t.Error(err)
			}
		})
	}
}
