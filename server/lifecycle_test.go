package server

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc/codes"
	healthv1 "google.golang.org/grpc/health/grpc_health_v1"
	reflectionv1 "google.golang.org/grpc/reflection/grpc_reflection_v1"

	stowagev1 "github.com/stowage-scheduler/stowage/proto/stowage/v1"
)

func (r *running) health(t *testing.T, service string) healthv1.HealthCheckResponse_ServingStatus {
	t.Helper()
	h, err := healthv1.NewHealthClient(r.conn).Check(t.Context(), &healthv1.HealthCheckRequest{Service: service})
	if err != nil {
		t.Fatal(err)
	}
	return h.GetStatus()
}

func TestDrain(t *testing.T) {
	service, entered, release := blocking()
	s, drained := create(t, testConfig(), t.Output(), service), make(chan struct{})
	s.drain = func() { <-drained }
	r := start(t, s, nil)
	eventually(t, "ready", r.ready.Load)
	for _, name := range []string{
		"", stowagev1.PlacementService_ServiceDesc.ServiceName, stowagev1.SimulationService_ServiceDesc.ServiceName,
	} {
		if got := r.health(t, name); got != healthv1.HealthCheckResponse_SERVING {
			t.Errorf("health of %q is %v", name, got)
		}
	}
	if code, _ := r.get(t, "/readyz"); code != 200 {
		t.Errorf("/readyz answers %d", code)
	}
	inProgress := make(chan error)
	go func() {
		_, err := r.client().Filter(t.Context(), sized(1))
		inProgress <- err
	}()
	<-entered

	r.stop()
	eventually(t, "not ready", func() bool { return !r.ready.Load() })
	eventually(t, "not serving", func() bool { return r.health(t, "") == healthv1.HealthCheckResponse_NOT_SERVING })
	if code, _ := r.get(t, "/readyz"); code != 503 {
		t.Errorf("/readyz answers %d while draining", code)
	}
	if code, _ := r.get(t, "/healthz"); code != 200 {
		t.Errorf("/healthz answers %d while draining", code)
	}
	late := make(chan error)
	go func() {
		_, err := r.client().Filter(t.Context(), sized(1))
		late <- err
	}()
	<-entered // new calls are still taken
	close(release)
	for _, c := range []chan error{inProgress, late} {
		if err := <-c; err != nil {
			t.Errorf("a call failed while draining: %v", err)
		}
	}
	close(drained)
	if err := <-r.ended; err != nil {
		t.Errorf("Run returned %v", err)
	}
}

func TestGracePeriodEnds(t *testing.T) {
	service, entered, _ := blocking()
	c := testConfig()
	c.ShutdownGracePeriod = time.Millisecond
	r := run(t, c, t.Output(), service, nil)
	call := make(chan error)
	go func() {
		_, err := r.client().Filter(t.Context(), sized(1))
		call <- err
	}()
	<-entered
	r.stop()
	if code, _, _, _ := why(<-call); code != codes.Unavailable && code != codes.Canceled {
		t.Errorf("the call that was ended got %v", code)
	}
	if err := <-r.ended; err != nil {
		t.Errorf("Run returned %v", err)
	}
}

func TestDrainDelay(t *testing.T) {
	c := testConfig()
	c.DrainDelay = 10 * time.Millisecond
	r := run(t, c, t.Output(), nil, nil)
	eventually(t, "ready", r.ready.Load)
	asked := time.Now()
	r.stop()
	if err := <-r.ended; err != nil || time.Since(asked) < c.DrainDelay {
		t.Errorf("after %v Run returned %v", time.Since(asked), err)
	}
}

func TestStoppedBeforeItServes(t *testing.T) {
	for range 20 {
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if err := create(t, testConfig(), t.Output(), nil).Run(ctx); err != nil {
			t.Fatal(err)
		}
	}
}

func TestReflectionListsTheService(t *testing.T) {
	r := run(t, testConfig(), t.Output(), nil, nil)
	stream, err := reflectionv1.NewServerReflectionClient(r.conn).ServerReflectionInfo(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if err := stream.Send(&reflectionv1.ServerReflectionRequest{
		MessageRequest: &reflectionv1.ServerReflectionRequest_ListServices{},
	}); err != nil {
		t.Fatal(err)
	}
	answer, err := stream.Recv()
	if err != nil {
		t.Fatal(err)
	}
	if err := stream.CloseSend(); err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, s := range answer.GetListServicesResponse().GetService() {
		names = append(names, s.GetName())
	}
	if !slices.Contains(names, "stowage.v1.PlacementService") || !slices.Contains(names, "stowage.v1.SimulationService") {
		t.Errorf("got %v", names)
	}
}

func TestMetricsTellOfDecisionsAndNameNothing(t *testing.T) {
	r := run(t, testConfig(), t.Output(), nil, nil)
	if _, err := r.client().Place(t.Context(), placeApart(4)); err != nil {
		t.Fatal(err)
	}
	var metrics string
	eventually(t, "the call is measured", func() bool {
		_, metrics = r.get(t, "/metrics")
		return strings.Contains(metrics, "rpc_server_call_duration_seconds_count") ||
			strings.Contains(metrics, "rpc_server_duration")
	})
	for _, want := range []string{
		`stowage_decision_duration_seconds_count{method="Place",part="engine"} 1`,
		`stowage_decision_nodes_sum{method="Place"} 3`,
		`stowage_decision_feasible_sum{method="Place"} 3`,
		`go_goroutines`,
	} {
		if !strings.Contains(metrics, want) {
			t.Errorf("the metrics lack %s:\n%s", want, metrics)
		}
	}
	for _, name := range []string{"node-a", "zone-a", "redash"} {
		if strings.Contains(metrics, name) {
			t.Errorf("the metrics name %s", name)
		}
	}
}

func TestListenersThatFail(t *testing.T) {
	for name, address := range map[string][2]string{
		"service": {"127.0.0.1:x", "127.0.0.1:0"},
		"admin":   {"127.0.0.1:0", "127.0.0.1:x"},
	} {
		c := testConfig()
		c.ListenAddress, c.AdminAddress = address[0], address[1]
		if _, err := New(context.Background(), c, c.Logger(t.Output())); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}

func TestRunEndsIfAListenerFails(t *testing.T) {
	c := testConfig()
	c.DrainDelay = time.Hour // is for callers who are still served
	r := run(t, c, t.Output(), nil, nil)
	eventually(t, "ready", r.ready.Load)
	if err := r.listener.Close(); err != nil {
		t.Fatal(err)
	}
	if err := <-r.ended; err == nil {
		t.Error("Run returned no error")
	}
}
