package stowage_test

import (
	"context"
	"net"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"
	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/health"
	"google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/protoadapt"
	"google.golang.org/protobuf/types/known/durationpb"

	"github.com/stowage-scheduler/stowage/clients/stowage"
	"github.com/stowage-scheduler/stowage/clients/stowage/loopback"
	stowagev1 "github.com/stowage-scheduler/stowage/proto/stowage/v1"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// replica fails its first calls with the given errors and answers the others, except for calls with a snapshot that it
// does not have.
type replica struct {
	stowagev1.UnimplementedPlacementServiceServer
	failures []error
	calls    atomic.Int64
	address  string
	health   *health.Server
	server   *grpc.Server
	snapshots
}

func (r *replica) Place(_ context.Context, request *stowagev1.PlaceRequest) (*stowagev1.PlaceResponse, error) {
	return &stowagev1.PlaceResponse{PlacedCount: 7}, r.look(request)
}

// look fails as many calls as it is to, and those about a snapshot that the replica does not have.
func (r *replica) look(request *stowagev1.PlaceRequest) error {
	n := int(r.calls.Add(1))
	if n <= len(r.failures) {
		return r.failures[n-1]
	}
	if s := request.GetContext().GetSnapshot(); s != nil && !r.has(s.Address) {
		if r.beforeUnknown != nil {
			r.beforeUnknown()
		}
		return failure(codes.FailedPrecondition, "UNKNOWN_SNAPSHOT")
	}
	return nil
}

func start(t *testing.T, failures ...error) *replica {
	t.Helper()
	return startAt(t, net.JoinHostPort(loopback.Host(), "0"), failures...)
}

func startAt(t *testing.T, address string, failures ...error) *replica {
	t.Helper()
	listener := loopback.Listen(t, address)
	r := &replica{failures: failures, address: listener.Addr().String(), health: health.NewServer(), server: grpc.NewServer()}
	stowagev1.RegisterPlacementServiceServer(r.server, r)
	grpc_health_v1.RegisterHealthServer(r.server, r.health)
	done := make(chan struct{})
	go func() { defer close(done); _ = r.server.Serve(listener) }()
	t.Cleanup(func() { r.server.Stop(); <-done })
	return r
}

func dial(t *testing.T, replicas ...*replica) *stowage.Client {
	t.Helper()
	var addresses []string
	for _, r := range replicas {
		addresses = append(addresses, r.address)
	}
	c, err := stowage.Dial(addresses)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	return c
}

func failure(code codes.Code, reason string, details ...protoadapt.MessageV1) error {
	s, err := status.New(code, "no").WithDetails(append(details,
		&errdetails.ErrorInfo{Domain: "stowage-scheduler.github.io", Reason: reason})...)
	if err != nil {
		panic(err)
	}
	return s.Err()
}

var later = &errdetails.RetryInfo{RetryDelay: durationpb.New(time.Millisecond)}

func TestCallsAreTriedAgainWhereThatHelps(t *testing.T) {
	for _, c := range []struct {
		name     string
		failures []error
		calls    int64
		want     codes.Code
	}{
		{"the replica went away", []error{status.Error(codes.Unavailable, "")}, 2, codes.OK},
		{
			"the server asks for time", []error{failure(codes.ResourceExhausted, "OVERLOADED", later),
				failure(codes.ResourceExhausted, "RATE_LIMITED", later)}, 3, codes.OK,
		},
		{
			"the server asks for too much time",
			[]error{failure(codes.ResourceExhausted, "OVERLOADED", &errdetails.RetryInfo{RetryDelay: durationpb.New(time.Hour)})}, 1,
			codes.ResourceExhausted,
		},
		{
			"the server does not say when to come again", []error{failure(codes.ResourceExhausted, "OVERLOADED")}, 1,
			codes.ResourceExhausted,
		},
		{"the request is malformed", []error{failure(codes.InvalidArgument, "INVALID_REQUEST")}, 1, codes.InvalidArgument},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := start(t, c.failures...)
			ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
			defer cancel()
			_, err := dial(t, r).Place(ctx, &stowagev1.PlaceRequest{})
			if status.Code(err) != c.want || r.calls.Load() != c.calls {
				t.Errorf("%v after %d calls, want %v after %d", err, r.calls.Load(), c.want, c.calls)
			}
		})
	}
}

func TestLargeRequestsAreTriedAgain(t *testing.T) {
	r := start(t, status.Error(codes.Unavailable, ""))
	request := &stowagev1.PlaceRequest{Context: &stowagev1.DecisionContext{
		Base: &stowagev1.DecisionContext_Cluster{Cluster: &stowagev1.Cluster{}},
	}}
	for range 30_000 {
		request.GetContext().GetCluster().Nodes = append(request.GetContext().GetCluster().Nodes, &stowagev1.Node{
			Name: "a-node-with-a-name-of-some-length",
		})
	}
	if _, err := dial(t, r).Place(t.Context(), request); err != nil {
		t.Error(err)
	}
}

func TestReplicasTakeTurns(t *testing.T) {
	a, b := start(t), start(t)
	c := dial(t, a, b)
	// The second connection may come up later than the first.
	for a.calls.Load() == 0 || b.calls.Load() == 0 {
		if _, err := c.Place(t.Context(), &stowagev1.PlaceRequest{}); err != nil {
			t.Fatal(err)
		}
	}
	before := [2]int64{a.calls.Load(), b.calls.Load()}
	for range 10 {
		if _, err := c.Place(t.Context(), &stowagev1.PlaceRequest{}); err != nil {
			t.Fatal(err)
		}
	}
	if d := cmp.Diff([2]int64{5, 5}, [2]int64{a.calls.Load() - before[0], b.calls.Load() - before[1]}); d != "" {
		t.Error(d)
	}
}

func TestReplicasThatDoNotServeAreLeftOut(t *testing.T) {
	a, b := start(t), start(t)
	a.health.SetServingStatus("", grpc_health_v1.HealthCheckResponse_NOT_SERVING)
	c := dial(t, a, b)
	for range 10 {
		if _, err := c.Place(t.Context(), &stowagev1.PlaceRequest{}, grpc.WaitForReady(true)); err != nil {
			t.Fatal(err)
		}
	}
	if a.calls.Load() != 0 {
		t.Errorf("%d calls to the replica that does not serve", a.calls.Load())
	}
}

func TestDetails(t *testing.T) {
	err := failure(codes.InvalidArgument, "INVALID_REQUEST", later, &errdetails.BadRequest{
		FieldViolations: []*errdetails.BadRequest_FieldViolation{{Field: "queue[0].pod", Reason: "REQUIRED", Description: "required"}},
	})
	if d := cmp.Diff(stowage.Failure{
		Code:    codes.InvalidArgument,
		Message: "no",
		Reason:  stowagev1.ErrorReason_ERROR_REASON_INVALID_REQUEST,
		Violations: []stowage.Violation{{
			Field: "queue[0].pod", Reason: stowagev1.ViolationReason_VIOLATION_REASON_REQUIRED, Description: "required",
		}},
		RetryAfter: time.Millisecond,
	}, stowage.Details(err)); d != "" {
		t.Error(d)
	}
	unknown := failure(codes.FailedPrecondition, "UNKNOWN_SNAPSHOT")
	if got := stowage.Details(unknown).Reason; got != stowagev1.ErrorReason_ERROR_REASON_UNKNOWN_SNAPSHOT {
		t.Error(got)
	}
	limited, err := status.New(codes.ResourceExhausted, "no").WithDetails(&errdetails.ErrorInfo{
		Reason: "OVERLOADED", Domain: stowagev1.ErrorDomain,
		Metadata: map[string]string{"limit": "max_in_flight_bytes", "limitValue": "100"},
	})
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(stowage.Failure{
		Code: codes.ResourceExhausted, Message: "no", Reason: stowagev1.ErrorReason_ERROR_REASON_OVERLOADED,
		Metadata: map[string]string{"limit": "max_in_flight_bytes", "limitValue": "100"},
	}, stowage.Details(limited.Err())); d != "" {
		t.Error(d)
	}
	if got := stowage.Details(nil); got.Code != codes.OK {
		t.Error(got)
	}
}

func TestDialNeedsAnAddress(t *testing.T) {
	if _, err := stowage.Dial(nil); err == nil {
		t.Error("dialled nothing")
	}
}
