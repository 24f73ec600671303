package server

import (
	"fmt"
	"testing"

	"google.golang.org/protobuf/proto"

	stowagev1 "github.com/stowage-scheduler/stowage/proto/stowage/v1"
)

// TestLargeAmounts asks about amounts that honest clusters have: nodes of 16Pi, 1e16 of an extended resource, thousands of
// extended resources, and a queue that asks for more than 2^56 bytes in all.
func TestLargeAmounts(t *testing.T) {
	const pods, most = 1_000_000, 900_000
	cluster := &stowagev1.Cluster{Nodes: []*stowagev1.Node{{
		Name: "tokens",
		Allocatable: &stowagev1.Resources{
			CpuMillis: proto.Int64(8000), MemoryBytes: proto.Int64(16 << 30), Pods: proto.Int64(10),
			Scalars: map[string]int64{"example.com/tokens": 1e16},
		},
	}}}
	for i := range 2 {
		cluster.Nodes = append(cluster.Nodes, &stowagev1.Node{
			Name: fmt.Sprint("large-", i),
			Allocatable: &stowagev1.Resources{
				CpuMillis: proto.Int64(1e9), MemoryBytes: proto.Int64(most / 2 * 64 << 30),
				EphemeralStorageBytes: proto.Int64(16 << 50), Pods: proto.Int64(pods),
			},
		})
	}
	many := &stowagev1.Node{Name: "many", Allocatable: &stowagev1.Resources{Pods: proto.Int64(10), Scalars: map[string]int64{}}}
	for i := range 3000 {
		many.Allocatable.Scalars[fmt.Sprintf("example.com/device-%d", i)] = 1
	}
	cluster.Nodes = append(cluster.Nodes, many)
	asking := func(count uint32, r *stowagev1.Resources) *stowagev1.PendingPods {
		return &stowagev1.PendingPods{Count: new(count),
			Pod: &stowagev1.Pod{Source: &stowagev1.Pod_Template{Template: &stowagev1.PodTemplate{
				Spec: &stowagev1.PodSpec{Containers: []*stowagev1.Container{{Requests: r}}},
			}}}}
	}
	r := run(t, testConfig(), t.Output(), nil, nil)
	place := func(queue ...*stowagev1.PendingPods) []*stowagev1.Placement {
		got, err := r.client().Place(t.Context(), &stowagev1.PlaceRequest{Context: &stowagev1.DecisionContext{
			Base: &stowagev1.DecisionContext_Cluster{Cluster: cluster},
		}, Queue: queue})
		if err != nil {
			t.Fatal(err)
		}
		return got.Placements
	}
	large := place(asking(pods, &stowagev1.Resources{
		MemoryBytes: proto.Int64(64 << 30), EphemeralStorageBytes: proto.Int64(20 << 30),
	}))[0]
	if got := len(large.GetNodes().GetIndexes()); got != most || large.GetUnplacedCount() != pods-most {
		t.Errorf("%d of the large pods are placed, %d are not: %s", got, large.GetUnplacedCount(), large.GetMessage())
	}
	for i, got := range place(
		asking(1, &stowagev1.Resources{Scalars: map[string]int64{"example.com/tokens": 1e16 - 1}}),
		asking(1, &stowagev1.Resources{Scalars: map[string]int64{"example.com/tokens": 1}}),
		asking(1, &stowagev1.Resources{Scalars: map[string]int64{"example.com/tokens": 1}}),
		asking(1, &stowagev1.Resources{Scalars: map[string]int64{"example.com/device-2999": 1}}),
		asking(1, &stowagev1.Resources{MemoryBytes: proto.Int64(1<<63 - 1)}),
	) {
		want := []string{"[0]", "[0]", "[]", "[3]", "[]"}[i]
		if nodes := fmt.Sprint(got.GetNodes().GetIndexes()); nodes != want {
			t.Errorf("entry %d is on %s, want %s: %s", i, nodes, want, got.GetMessage())
		}
	}
}
