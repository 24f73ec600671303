package servertest_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net/http"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"
	"google.golang.org/protobuf/testing/protocmp"

	"github.com/stowage-scheduler/stowage/bench/bigcluster"
	"github.com/stowage-scheduler/stowage/clients/servertest"
	"github.com/stowage-scheduler/stowage/clients/stowage"
	stowagev1 "github.com/stowage-scheduler/stowage/proto/stowage/v1"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func newSnapshot(t *testing.T, cluster *stowagev1.Cluster) *stowage.Snapshot {
	t.Helper()
	s, err := stowage.NewSnapshot(cluster)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// serve runs a server that has so much room for snapshots, and returns its address.
func serve(t *testing.T, room int64) string {
	t.Helper()
	s := servertest.Start(t, fmt.Sprint("--max-snapshot-bytes=", room))
	t.Cleanup(http.DefaultClient.CloseIdleConnections)
	return s.Address
}

// Several callers send requests about four snapshots to two servers that have room for three. Many requests refer to a
// snapshot that the server does not have. Every response is that to the cluster in full.
func TestServersThatForgetAnswerAll(t *testing.T) {
	cluster := bigcluster.Compact(bigcluster.Random(300))
	s := newSnapshot(t, cluster)
	single, err := stowage.Dial([]string{serve(t, 1<<30)})
	if err != nil {
		t.Fatal(err)
	}
	defer single.Close()
	stream, err := single.PutSnapshot(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range []*stowagev1.PutSnapshotRequest{
		{Step: &stowagev1.PutSnapshotRequest_Part{Part: cluster}},
		{Step: &stowagev1.PutSnapshotRequest_End{End: &stowagev1.PutSnapshotEnd{}}},
	} {
		if err := stream.Send(m); err != nil {
			t.Fatal(err)
		}
	}
	stored, err := stream.CloseAndRecv()
	if err != nil {
		t.Fatal(err)
	}
	if stored.Address != s.Address() {
		t.Errorf("the server says %s, the client %s", stored.Address, s.Address())
	}

	room := int64(stored.MemoryBytes) * 7 / 2
	client, err := stowage.Dial([]string{serve(t, room), serve(t, room)})
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	queue := []*stowagev1.PendingPods{{
		Pod:   &stowagev1.Pod{Source: &stowagev1.Pod_Template{Template: bigcluster.Template(0)}},
		Count: new(uint32(50)),
	}}
	var snapshots []*stowage.Snapshot
	var want []*stowagev1.PlaceResponse
	for i := range 4 {
		if i > 0 {
			s, err = s.With(&stowagev1.ClusterDelta{RemovedNodes: []string{fmt.Sprintf("node-%06d", i)}})
			if err != nil {
				t.Fatal(err)
			}
			cluster.Nodes = append(cluster.Nodes[:1:1], cluster.Nodes[2:]...)
		}
		if err := client.Put(t.Context(), s); err != nil {
			t.Fatal(err)
		}
		answer, err := single.Place(t.Context(), &stowagev1.PlaceRequest{Context: &stowagev1.DecisionContext{
			Base: &stowagev1.DecisionContext_Cluster{Cluster: cluster},
		}, Queue: queue})
		if err != nil {
			t.Fatal(err)
		}
		snapshots, want = append(snapshots, s), append(want, answer)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	var group sync.WaitGroup
	for caller := range 3 {
		rng := rand.New(rand.NewPCG(uint64(caller), 0))
		group.Go(func() {
			for range 20 {
				i := rng.IntN(len(snapshots))
				got, err := client.Place(ctx, &stowagev1.PlaceRequest{
					Context: &stowagev1.DecisionContext{
						Base: &stowagev1.DecisionContext_Snapshot{Snapshot: &stowagev1.SnapshotReference{Address: snapshots[i].Address()}},
					}, Queue: queue,
				})
				if err != nil {
					t.Error(err)
					return
				}
				if d := cmp.Diff(want[i], got, protocmp.Transform()); d != "" {
					t.Error(d)
				}
			}
		})
	}
	group.Wait()
}
