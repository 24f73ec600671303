package conformance_test

import (
	"os"
	"testing"

	"github.com/stowage-scheduler/stowage/bench/conformance"
	stowagev1 "github.com/stowage-scheduler/stowage/proto/stowage/v1"
	"github.com/stowage-scheduler/stowage/server"
	"github.com/stowage-scheduler/stowage/server/placement"
)

// TestStowage holds Stowage to kube-scheduler's recorded answers, in this process and over gRPC.
func TestStowage(t *testing.T) {
	conn, stop, err := server.NewEmbedded(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := stop(); err != nil {
			t.Error(err)
		}
	}()
	client := stowagev1.NewPlacementServiceClient(conn)
	for name, service := range map[string]conformance.Service{
		"in process":    conformance.Direct(placement.New(0, nil)),
		"over the wire": client,
		"by address":    conformance.ByAddress(client),
		"by delta":      conformance.ByDelta(client),
	} {
		t.Run(name, func(t *testing.T) {
			f, err := os.Open("testdata/kube-1.37.gz")
			if err != nil {
				t.Fatal(err)
			}
			defer f.Close()
			cases := 0
			for c, err := range conformance.Read(f) {
				if err != nil {
					t.Fatal(err)
				}
				cases++
				for _, d := range conformance.Run(t.Context(), c, service) {
					t.Errorf("%s: %v", c.Name, d)
				}
			}
			if cases < 1000 {
				t.Errorf("the corpus has %d cases only", cases)
			}
		})
	}
}
