package server

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/grpc/codes"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/testing/protocmp"

	stowagev1 "github.com/stowage-scheduler/stowage/proto/stowage/v1"
)

// TestEveryMethodTakesReferences asks methods whose answers are not remembered in every way of naming a cluster.
func TestEveryMethodTakesReferences(t *testing.T) {
	client := snapshotConfig(t).client()
	whole := threeZones()
	whole.PodTemplates = append(whole.PodTemplates, apart().GetTemplate())
	for i, n := range whole.Nodes {
		n.PodCounts = append(n.PodCounts, &stowagev1.PodCount{TemplateIndex: uint32(len(whole.PodTemplates) - 1), Count: uint32(1 + i)})
	}
	base := proto.CloneOf(whole)
	last := base.Nodes[len(base.Nodes)-1]
	base.Nodes = base.Nodes[:len(base.Nodes)-1]
	for _, c := range []*stowagev1.Cluster{whole, base} {
		if _, err := put(t, client, part(c), end("")); err != nil {
			t.Fatal(err)
		}
	}
	references := map[string]*stowagev1.SnapshotReference{
		"by address":             {Address: addressOf(t, whole)},
		"by address and a delta": {Address: addressOf(t, base), Delta: &stowagev1.ClusterDelta{Nodes: []*stowagev1.Node{last}}},
	}
	scaleDown := &stowagev1.ScaleDownRequest{Context: &stowagev1.DecisionContext{
		Base: &stowagev1.DecisionContext_Cluster{Cluster: whole}, IncludeNodeNames: true,
	}, Pod: apart(), Replicas: new(uint32(2))}
	wantScaled, err := client.ScaleDown(t.Context(), scaleDown)
	if err != nil || len(wantScaled.Deletions) == 0 {
		t.Fatal(err, wantScaled)
	}
	place := queued()
	place.Context.Base = &stowagev1.DecisionContext_Cluster{Cluster: whole}
	wantPlaced, err := parts(t.Context(), client, &stowagev1.PlaceStreamRequest{Place: place, PodsPerMessage: new(uint32(2))})
	if err != nil {
		t.Fatal(err)
	}
	for how, reference := range references {
		scaleDown.Context.Base = &stowagev1.DecisionContext_Snapshot{Snapshot: reference}
		got, err := client.ScaleDown(t.Context(), scaleDown)
		if err != nil {
			t.Fatalf("%s: %v", how, err)
		}
		if diff := cmp.Diff(wantScaled, got, protocmp.Transform()); diff != "" {
			t.Errorf("ScaleDown %s (-want +got):\n%s", how, diff)
		}
		place.Context.Base = &stowagev1.DecisionContext_Snapshot{Snapshot: reference}
		placed, err := parts(t.Context(), client, &stowagev1.PlaceStreamRequest{Place: place, PodsPerMessage: new(uint32(2))})
		if err != nil {
			t.Fatalf("%s: %v", how, err)
		}
		if diff := cmp.Diff(wantPlaced, placed, protocmp.Transform()); diff != "" {
			t.Errorf("PlaceStream %s (-want +got):\n%s", how, diff)
		}
	}
	scaleDown.Context.Base = &stowagev1.DecisionContext_Snapshot{
		Snapshot: &stowagev1.SnapshotReference{Address: addressOf(t, threeZones())},
	}
	_, err = client.ScaleDown(t.Context(), scaleDown)
	if code, reason, _, _ := why(err); code != codes.FailedPrecondition || reason != "UNKNOWN_SNAPSHOT" {
		t.Errorf("unknown snapshot: %v", err)
	}
}
