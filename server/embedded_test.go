package server

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/grpc/codes"
	healthv1 "google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/protobuf/testing/protocmp"

	stowagev1 "github.com/stowage-scheduler/stowage/proto/stowage/v1"
)

func TestEmbeddedAnswersAsTheServerDoes(t *testing.T) {
	conn, stop, err := NewEmbedded(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	embedded := stowagev1.NewPlacementServiceClient(conn)
	r := run(t, testConfig(), t.Output(), nil, nil)
	got, err := embedded.Place(t.Context(), placeApart(4))
	if err != nil {
		t.Fatal(err)
	}
	want, err := r.client().Place(t.Context(), placeApart(4))
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got, protocmp.Transform()); diff != "" {
		t.Errorf("-server +embedded:\n%s", diff)
	}
	_, err = embedded.Filter(t.Context(), &stowagev1.FilterRequest{})
	if code, reason, _, _ := why(err); code != codes.InvalidArgument || reason != "stowage/INVALID_REQUEST" {
		t.Errorf("got %v %s", code, reason)
	}
	h, err := healthv1.NewHealthClient(conn).Check(t.Context(), &healthv1.HealthCheckRequest{})
	if err != nil || h.GetStatus() != healthv1.HealthCheckResponse_SERVING {
		t.Errorf("health is %v, %v", h, err)
	}
	if err := stop(); err != nil {
		t.Error(err)
	}
}
