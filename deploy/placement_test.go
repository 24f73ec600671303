package deploy

import (
	"bytes"
	"slices"
	"testing"

	"google.golang.org/protobuf/encoding/protojson"

	"github.com/stowage-scheduler/stowage/clients/cli"
	stowagev1 "github.com/stowage-scheduler/stowage/proto/stowage/v1"
)

// Stowage says where its own replicas go: one a zone, though the other zone has more room for both.
func TestReplicasGoToDifferentZones(t *testing.T) {
	var out, notices bytes.Buffer
	args := []string{"place", "-o", "json", "-f", "testdata/nodes.yaml", "-f", "kubernetes"}
	if code := cli.Run(t.Context(), args, nil, &out, &notices); code != 0 {
		t.Fatalf("exit code %d\n%s%s", code, &out, &notices)
	}
	var answer stowagev1.PlaceResponse
	if err := (protojson.UnmarshalOptions{DiscardUnknown: true}).Unmarshal(out.Bytes(), &answer); err != nil {
		t.Fatal(err)
	}
	if len(answer.Placements) != 1 {
		t.Fatalf("placements of %d workloads, want 1", len(answer.Placements))
	}
	nodes := answer.Placements[0].Nodes.GetNames()
	if len(nodes) != 2 || !slices.Contains(nodes, "small") {
		t.Errorf("replicas go to %v, want one in each zone", nodes)
	}
}
