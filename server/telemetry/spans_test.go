package telemetry

import (
	"context"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"

	"github.com/stowage-scheduler/stowage/server/admin"
	"github.com/stowage-scheduler/stowage/server/instruments"
)

// recorded returns telemetry whose spans are all recorded.
func recorded(t *testing.T) (*Telemetry, *tracetest.SpanRecorder) {
	t.Setenv("OTEL_SDK_DISABLED", "true")
	tel, err := New(t.Context(), "stowage", "v0")
	if err != nil {
		t.Fatal(err)
	}
	spans := tracetest.NewSpanRecorder()
	tel.traces = trace.NewTracerProvider(trace.WithSpanProcessor(spans))
	if tel.Decisions, err = instruments.NewDecisions(tel.metrics); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = tel.Shutdown(context.Background()) })
	return tel, spans
}

// A decision has a span for each phase, one after the other, within the span of its call.
func TestSpans(t *testing.T) {
	tel, spans := recorded(t)
	ctx, call := tel.traces.Tracer("test").Start(t.Context(), "call")
	end := time.Unix(1000, 0)
	tel.Decisions.Record(ctx, instruments.Decision{
		Method: "Place", Decode: time.Second, Compile: 8 * time.Second, Engine: 2 * time.Second, Encode: 4 * time.Second, End: end, Nodes: 5, Feasible: 3, Scanned: 1,
	})
	call.End()
	want := []struct {
		name     string
		from, to int64
	}{{"decode", 985, 986}, {"compile", 986, 994}, {"engine", 994, 996}, {"encode", 996, 1000}}
	got := spans.Ended()
	if len(got) != len(want)+1 {
		t.Fatalf("there are %d spans", len(got))
	}
	for i, w := range want {
		s := got[i]
		if s.Name() != w.name || s.StartTime().Unix() != w.from || s.EndTime().Unix() != w.to ||
			s.Parent().SpanID() != call.SpanContext().SpanID() {
			t.Errorf("span %d is %s from %v to %v in %v", i, s.Name(), s.StartTime(), s.EndTime(), s.Parent().SpanID())
		}
	}
	attributes := attribute.NewSet(got[len(want)].Attributes()...)
	expected := attribute.NewSet(attribute.Bool("stowage.cache_hit", false), attribute.Int("stowage.nodes", 5),
		attribute.Int("stowage.feasible", 3), attribute.Int("stowage.scanned", 1))
	if !attributes.Equals(&expected) {
		t.Errorf("the call has %v", attributes.Encoded(attribute.DefaultEncoder()))
	}
}

// A scrape of OpenMetrics has the trace of a call that is in a histogram; one of plain text does not.
func TestExemplars(t *testing.T) {
	tel, _ := recorded(t)
	ctx, call := tel.traces.Tracer("test").Start(t.Context(), "call")
	tel.Decisions.Record(ctx, instruments.Decision{Method: "Filter", Engine: time.Second, End: time.Unix(1000, 0)})
	call.End()
	handler := admin.Handler(admin.Settings{Metrics: tel.Gatherer(), Ready: func(context.Context) error { return nil }})
	for accept, want := range map[string]bool{"application/openmetrics-text; version=1.0.0": true, "text/plain": false} {
		r := httptest.NewRequest(http.MethodGet, "/metrics", nil)
		r.Header.Set("Accept", accept)
		w := httptest.NewRecorder()
		handler.ServeHTTP(w, r)
		if got := strings.Contains(w.Body.String(), call.SpanContext().TraceID().String()); w.Code != http.StatusOK || got != want {
			t.Errorf("%s: %d, the trace is there: %t", accept, w.Code, got)
		}
	}
}

// A wait for a seat is a span that ends when the request gets the seat.
func TestWaitIsASpan(t *testing.T) {
	tel, spans := recorded(t)
	ctx, call := tel.traces.Tracer("test").Start(t.Context(), "call")
	before := time.Now()
	tel.Admission.Waited(ctx, time.Second)
	got := spans.Ended()
	if len(got) != 1 || got[0].Name() != "wait" || got[0].EndTime().Before(before) || got[0].EndTime().Sub(got[0].StartTime()) != time.Second ||
		got[0].Parent().SpanID() != call.SpanContext().SpanID() {
		t.Errorf("the spans are %v", got)
	}
	call.End()
}
