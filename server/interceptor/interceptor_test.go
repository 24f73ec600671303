package interceptor

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"
	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/stats"
	"google.golang.org/grpc/status"

	stowagev1 "github.com/stowage-scheduler/stowage/proto/stowage/v1"
	"github.com/stowage-scheduler/stowage/server/admission"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var discard = slog.New(slog.DiscardHandler)

func TestOrder(t *testing.T) {
	names := func(s Settings) []string {
		var out []string
		for _, n := range Chain(s) {
			out = append(out, n.Name)
		}
		return out
	}
	full := Settings{
		Log: discard, Rate: NewRateLimit(1, 1, time.Now), InFlight: NewInFlight(1), MaxDuration: time.Second,
	}
	want := []string{"recover-any", "log", "rate-limit", "in-flight-limit", "deadline", "answer-size", "recover"}
	if diff := cmp.Diff(want, names(full)); diff != "" {
		t.Errorf("all: -want +got:\n%s", diff)
	}
	want = []string{"recover-any", "log", "in-flight-limit", "answer-size", "recover"}
	if diff := cmp.Diff(want, names(Settings{Log: discard, InFlight: NewInFlight(1)})); diff != "" {
		t.Errorf("least: -want +got:\n%s", diff)
	}
}

// through sends a call through a chain to a handler.
func through(ctx context.Context, s Settings, method string, handle grpc.UnaryHandler) (any, error) {
	chain := Chain(s)
	info := &grpc.UnaryServerInfo{FullMethod: method}
	for _, outer := range slices.Backward(chain) {
		next, unary := handle, outer.Unary
		handle = func(ctx context.Context, r any) (any, error) { return unary(ctx, r, info, next) }
	}
	return handle(ctx, &stowagev1.FilterRequest{Context: &stowagev1.DecisionContext{
		Base: &stowagev1.DecisionContext_Cluster{Cluster: &stowagev1.Cluster{}},
	}, Pod: &stowagev1.Pod{}})
}

const (
	filter = "/stowage.v1.PlacementService/Filter"
	check  = "/grpc.health.v1.Health/Check"
)

func answer(context.Context, any) (any, error) { return "answer", nil }

func reason(t *testing.T, err error) (codes.Code, string, time.Duration) {
	t.Helper()
	var why string
	var wait time.Duration
	s := status.Convert(err)
	for _, d := range s.Details() {
		switch d := d.(type) {
		case *errdetails.ErrorInfo:
			why = d.GetReason()
		case *errdetails.RetryInfo:
			wait = d.GetRetryDelay().AsDuration()
		}
	}
	return s.Code(), why, wait
}

func TestPanicsAreRecoveredAndLogged(t *testing.T) {
	for method, want := range map[string]string{filter: "INTERNAL", check: ""} {
		var log bytes.Buffer
		s := Settings{Log: slog.New(slog.NewJSONHandler(&log, nil)), InFlight: NewInFlight(1)}
		_, err := through(t.Context(), s, method, func(context.Context, any) (any, error) { panic("secret") })
		if code, why, _ := reason(t, err); code != codes.Internal || why != want {
			t.Errorf("%s: got %v %s, want Internal %s", method, code, why, want)
		}
		if strings.Contains(err.Error(), "secret") || strings.Contains(err.Error(), "goroutine") {
			t.Errorf("%s: the panic is in the error: %v", method, err)
		}
		if !strings.Contains(log.String(), "secret") || !strings.Contains(log.String(), "interceptor_test.go") {
			t.Errorf("%s: the panic or its stack is not in the log: %s", method, &log)
		}
	}
}

func TestLog(t *testing.T) {
	var log bytes.Buffer
	f := NewInFlight(100)
	s := Settings{Log: slog.New(slog.NewJSONHandler(&log, nil)), InFlight: f}
	ctx := f.TagRPC(t.Context(), nil)
	f.HandleRPC(ctx, &stats.InPayload{Length: 42})
	if _, err := through(ctx, s, filter, answer); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{`"grpc.method":"Filter"`, `"grpc.code":"OK"`, `"bytes":42`, `"grpc.time_ms"`} {
		if !strings.Contains(log.String(), want) {
			t.Errorf("the log lacks %s: %s", want, &log)
		}
	}
	log.Reset()
	refuse := func(context.Context, any) (any, error) {
		return nil, status.Error(codes.InvalidArgument, "label-of-the-request")
	}
	if _, err := through(ctx, s, filter, refuse); err == nil {
		t.Fatal("no error")
	}
	if !strings.Contains(log.String(), "InvalidArgument") || strings.Contains(log.String(), "label-of-the-request") {
		t.Errorf("the log lacks the code, or quotes the request: %s", &log)
	}
	log.Reset()
	if _, err := through(ctx, s, check, answer); err != nil || log.Len() > 0 {
		t.Errorf("a health check failed (%v) or was logged: %s", err, &log)
	}
}

// A call's span has one of receiving its request, from the beginning of the call to the last byte.
func TestReceivingIsASpan(t *testing.T) {
	spans := tracetest.NewSpanRecorder()
	provider := sdktrace.NewTracerProvider(sdktrace.WithSpanProcessor(spans))
	ctx, parent := provider.Tracer("test").Start(t.Context(), "call")
	f := NewInFlight(100)
	ctx = f.TagRPC(ctx, nil)
	f.HandleRPC(ctx, &stats.Begin{BeginTime: time.Unix(10, 0)})
	f.HandleRPC(ctx, &stats.InPayload{Length: 42, RecvTime: time.Unix(12, 0)})
	if _, err := through(ctx, Settings{Log: discard, InFlight: f}, filter, answer); err != nil {
		t.Fatal(err)
	}
	got := spans.Ended()
	if len(got) != 1 {
		t.Fatalf("there are %d spans", len(got))
	}
	s := got[0]
	if s.Name() != "receive" || s.StartTime().Unix() != 10 || s.EndTime().Unix() != 12 || s.Parent().SpanID() != parent.SpanContext().SpanID() ||
		len(s.Attributes()) != 1 || s.Attributes()[0].Value.AsInt64() != 42 {
		t.Errorf("the span is %s from %v to %v with %v", s.Name(), s.StartTime(), s.EndTime(), s.Attributes())
	}
}

func TestDeadline(t *testing.T) {
	s := Settings{Log: discard, InFlight: NewInFlight(1), MaxDuration: time.Nanosecond}
	wait := func(ctx context.Context, _ any) (any, error) {
		<-ctx.Done()
		return nil, ctx.Err()
	}
	if _, err := through(t.Context(), s, filter, wait); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("got error %v", err)
	}
	s.MaxDuration = 0
	_, err := through(t.Context(), s, filter, func(ctx context.Context, _ any) (any, error) {
		if _, ok := ctx.Deadline(); ok {
			t.Error("there is a deadline without a limit")
		}
		return "answer", nil
	})
	if err != nil {
		t.Error(err)
	}
}

// clock is a clock that stands still unless moved.
type clock struct{ now time.Time }

func (c *clock) read() time.Time { return c.now }

func TestRateLimit(t *testing.T) {
	c := &clock{time.Unix(1e9, 0)}
	s := Settings{Log: discard, InFlight: NewInFlight(1), Rate: NewRateLimit(10, 3, c.read)}
	call := func(method string) (string, time.Duration) {
		_, err := through(t.Context(), s, method, answer)
		_, why, wait := reason(t, err)
		return why, wait
	}
	for i := range 3 {
		if why, _ := call(filter); why != "" {
			t.Fatalf("call %d of the burst is refused: %s", i, why)
		}
	}
	for range 2 { // a refused call costs nothing
		if why, wait := call(filter); why != "RATE_LIMITED" || wait != 100*time.Millisecond {
			t.Fatalf("after the burst: got %q, wait %v", why, wait)
		}
	}
	if why, _ := call(check); why != "" {
		t.Errorf("a health check is refused: %s", why)
	}
	c.now = c.now.Add(99 * time.Millisecond)
	if why, wait := call(filter); why != "RATE_LIMITED" || wait != time.Millisecond {
		t.Errorf("too early: got %q, wait %v", why, wait)
	}
	c.now = c.now.Add(time.Millisecond)
	if why, _ := call(filter); why != "" {
		t.Errorf("in time, but refused: %s", why)
	}
	c.now = c.now.Add(time.Hour)
	for i := range 4 {
		if why, _ := call(filter); (why != "") != (i == 3) {
			t.Errorf("call %d after a long pause: got %q", i, why)
		}
	}
}

func TestInFlight(t *testing.T) {
	f := NewInFlight(100)
	s := Settings{Log: discard, InFlight: f}
	// call returns the reason and the wait that a call is refused with, and ends as gRPC does: after the chain.
	call := func(bytes int, handle grpc.UnaryHandler, after func()) (string, time.Duration) {
		ctx := f.TagRPC(t.Context(), nil)
		f.HandleRPC(ctx, &stats.Begin{})
		f.HandleRPC(ctx, &stats.InPayload{Length: bytes})
		_, err := through(ctx, s, filter, handle)
		after()
		f.HandleRPC(ctx, &stats.End{})
		_, why, wait := reason(t, err)
		return why, wait
	}
	nothing := func() {}
	why, _ := call(100, func(ctx context.Context, r any) (any, error) {
		if why, wait := call(1, answer, nothing); why != "OVERLOADED" || wait != retryOverloaded {
			t.Errorf("a call too many: got %q, wait %v", why, wait)
		}
		return answer(ctx, r)
	}, func() {
		if why, _ := call(100, answer, nothing); why != "" {
			t.Errorf("a call after one that is answered is refused: %s", why)
		}
	})
	if why != "" {
		t.Errorf("a call that fits is refused: %s", why)
	}
	if left, limit, refusals := f.Counts(); left != 0 || limit != 100 || refusals != 1 {
		t.Errorf("%d bytes of %d are left when all calls have ended, %d were refused", left, limit, refusals)
	}
}

// TestSmallClientsHaveAReserve: beside requests of the limit, and beside many small ones of a client, requests of clients that have little
// in flight are admitted, some 32 of them.
func TestSmallClientsHaveAReserve(t *testing.T) {
	const limit = 1 << 20
	f := NewInFlight(limit)
	arrive := func(client string, bytes int) bool {
		ctx := f.TagRPC(admission.WithClient(t.Context(), client), nil)
		f.HandleRPC(ctx, &stats.InPayload{Length: bytes})
		return !callOf(ctx).overload.Load()
	}
	if !arrive("large", limit) {
		t.Fatal("a request of the limit is refused alone")
	}
	if arrive("medium", limit/256+1) || arrive("large again", limit) {
		t.Error("a larger one than small ones is admitted beside it")
	}
	counter := func(client string) *atomic.Int64 {
		return f.clients.Of(admission.Client(admission.WithClient(t.Context(), client)))
	}
	name := "many"
	for counter(name) == counter("large") {
		name += "."
	}
	many := 0
	for range 256 {
		if arrive(name, limit/256/4) {
			many++
		}
	}
	if many != 4 {
		t.Errorf("%d small ones of a client are admitted, want 4", many)
	}
	few := 0
	for i := range 256 {
		if arrive(fmt.Sprint("few ", i), limit/256) {
			few++
		}
	}
	if few < 20 || few > 32 {
		t.Errorf("%d small ones of as many clients are admitted, want some 31", few)
	}
}

// TestDecodedCounts charges what requests contain, and refuses for good what exceeds the limit alone.
func TestDecodedCounts(t *testing.T) {
	f := NewInFlight(1000)
	ctx := f.TagRPC(t.Context(), nil)
	f.HandleRPC(ctx, &stats.Begin{BeginTime: time.Now()})
	f.HandleRPC(ctx, &stats.InPayload{Length: 100})
	if err := ReserveDecoded(ctx, 100, 1300); err != nil {
		t.Errorf("as much as its bytes: %v", err)
	}
	if bytes, _, _ := f.Counts(); bytes != 100 {
		t.Errorf("%d bytes count, want 100", bytes)
	}
	if err := ReserveDecoded(ctx, 100, 13*900); err != nil {
		t.Errorf("within the limit: %v", err)
	}
	if bytes, _, _ := f.Counts(); bytes != 900 {
		t.Errorf("%d bytes count, want 900", bytes)
	}
	alone := NewInFlight(1000)
	for decoded, refused := range map[int64]bool{13 * 1000: false, 13*1000 + 13: true} {
		ctx := alone.TagRPC(t.Context(), nil)
		alone.HandleRPC(ctx, &stats.Begin{BeginTime: time.Now()})
		alone.HandleRPC(ctx, &stats.InPayload{Length: 100})
		if err := ReserveDecoded(ctx, 100, decoded); (err != nil) != refused {
			t.Errorf("%d bytes decoded: %v", decoded, err)
		}
		alone.HandleRPC(ctx, &stats.End{})
	}
	other := f.TagRPC(t.Context(), nil)
	f.HandleRPC(other, &stats.Begin{BeginTime: time.Now()})
	f.HandleRPC(other, &stats.InPayload{Length: 50})
	if err := ReserveDecoded(other, 50, 13*200); status.Code(err) != codes.ResourceExhausted || len(status.Convert(err).Details()) != 2 {
		t.Errorf("beside another: %v", err)
	}
	err := ReserveDecoded(other, 50, 13*2000)
	if details := status.Convert(err).Details(); len(details) != 1 || details[0].(*errdetails.ErrorInfo).GetReason() != "REQUEST_TOO_LARGE" {
		t.Errorf("more than the limit: %v, %v", err, details)
	}
}
