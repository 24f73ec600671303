package server

import (
	"fmt"
	"slices"
	"testing"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	stowagev1 "github.com/stowage-scheduler/stowage/proto/stowage/v1"
)

// TestPutBeyondInFlight puts a snapshot in parts that together exceed the in-flight limit, while no other call is in
// progress. The error must be one that a client does not retry.
func TestPutBeyondInFlight(t *testing.T) {
	c := testConfig()
	c.MaxSnapshotBytes = 64 << 20
	c.MaxReceiveMessageBytes, c.MaxInFlightBytes = 64<<10, 128<<10
	client := run(t, c, t.Output(), nil, nil).client()
	var steps []*stowagev1.PutSnapshotRequest
	for i := range 40 {
		cluster := &stowagev1.Cluster{}
		for j := range 300 {
			cluster.Nodes = append(cluster.Nodes, &stowagev1.Node{Name: fmt.Sprintf("node-%d-%d", i, j)})
		}
		steps = append(steps, part(cluster))
	}
	_, err := put(t, client, append(steps, end(""))...)
	if code, reason, retry, _ := why(err); code != codes.ResourceExhausted || reason != "SNAPSHOT_TOO_LARGE" || retry != 0 {
		t.Errorf("%v, retry after %v", err, retry)
	}
	if _, err := put(t, client, steps[0], end("")); err != nil {
		t.Errorf("afterwards: %v", err)
	}
}

// TestPutOfManyDeltas puts empty deltas, each of which copies what a delta always copies.
func TestPutOfManyDeltas(t *testing.T) {
	c := testConfig()
	c.MaxSnapshotBytes = 1 << 20
	client := run(t, c, t.Output(), nil, nil).client()
	stored, err := put(t, client, part(threeZones()), end(""))
	if err != nil {
		t.Fatal(err)
	}
	base := &stowagev1.PutSnapshotRequest{Step: &stowagev1.PutSnapshotRequest_BaseAddress{BaseAddress: stored.Address}}
	delta := &stowagev1.PutSnapshotRequest{Step: &stowagev1.PutSnapshotRequest_Delta{Delta: &stowagev1.ClusterDelta{}}}
	for deltas, want := range map[int]codes.Code{100: codes.OK, 101: codes.InvalidArgument} {
		steps := append([]*stowagev1.PutSnapshotRequest{base}, slices.Repeat([]*stowagev1.PutSnapshotRequest{delta}, deltas)...)
		if _, err := put(t, client, append(steps, end(stored.Address))...); status.Code(err) != want {
			t.Errorf("%d deltas: %v, want %v", deltas, err, want)
		}
	}
}
