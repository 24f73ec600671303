package server

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/grpc/codes"
	healthv1 "google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/protobuf/testing/protocmp"

	stowagev1 "github.com/stowage-scheduler/stowage/proto/stowage/v1"
	"github.com/stowage-scheduler/stowage/server/inprocess"
)

func TestEmbeddedAnswersAsTheServerDoes(t *testing.T) {
	conn, stop, err := inprocess.Connect(t.Context())
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
	if code, reason, _, _ := why(err); code != codes.InvalidArgument || reason != "INVALID_REQUEST" {
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

func TestEmbeddedReportsNowhere(t *testing.T) {
	for _, exporter := range []string{"console", "bogus"} {
		t.Run(exporter, func(t *testing.T) {
			for _, variable := range []string{"OTEL_TRACES_EXPORTER", "OTEL_METRICS_EXPORTER", "OTEL_PROPAGATORS"} {
				t.Setenv(variable, exporter)
			}
			output, err := os.Create(filepath.Join(t.TempDir(), "output"))
			if err != nil {
				t.Fatal(err)
			}
			defer func() { _ = output.Close() }()
			stdout, stderr := os.Stdout, os.Stderr
			os.Stdout, os.Stderr = output, output
			defer func() { os.Stdout, os.Stderr = stdout, stderr }()
			conn, stop, err := inprocess.Connect(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			if _, err := stowagev1.NewPlacementServiceClient(conn).Place(t.Context(), placeApart(4)); err != nil {
				t.Error(err)
			}
			if err := stop(); err != nil {
				t.Error(err)
			}
			if written, err := os.ReadFile(output.Name()); err != nil || len(written) > 0 {
				t.Errorf("wrote %q, %v", written, err)
			}
		})
	}
}
