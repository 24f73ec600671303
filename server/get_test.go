package server

import (
	"errors"
	"io"
	"strings"
	"testing"

	"google.golang.org/protobuf/proto"

	"github.com/stowage-scheduler/stowage/bench/bigcluster"
	"github.com/stowage-scheduler/stowage/proto/content"
	stowagev1 "github.com/stowage-scheduler/stowage/proto/stowage/v1"
	"github.com/stowage-scheduler/stowage/server/config"
)

// gotten returns the parts of a snapshot's content.
func gotten(t *testing.T, r *running, address string) (parts []*stowagev1.Cluster, err error) {
	t.Helper()
	stream, err := r.client().GetSnapshot(t.Context(), &stowagev1.GetSnapshotRequest{Address: address})
	for err == nil {
		var m *stowagev1.GetSnapshotResponse
		if m, err = stream.Recv(); err == nil {
			parts = append(parts, m.GetPart())
		}
	}
	if errors.Is(err, io.EOF) {
		err = nil
	}
	return parts, err
}

// wide returns a cluster of several parts.
func wide() *stowagev1.Cluster {
	c := bigcluster.New(3000)
	c.Namespaces = append(c.Namespaces, &stowagev1.Namespace{Name: "of-its-own"})
	return c
}

// TestGetSnapshot expects the parts of what was put, which have its address, and can be put again.
func TestGetSnapshot(t *testing.T) {
	r := run(t, roomy(), t.Output(), nil, nil)
	for name, cluster := range map[string]*stowagev1.Cluster{"empty": {}, "small": threeZones(), "wide": wide()} {
		address := stored(t, r.client(), cluster)
		parts, err := gotten(t, r, address)
		if err != nil || len(parts) == 0 || name == "wide" && len(parts) < 2 {
			t.Fatalf("%s: %d parts, %v", name, len(parts), err)
		}
		again := &stowagev1.Cluster{}
		for _, p := range parts {
			if size := proto.Size(p); size > content.PartBytes+content.PartBytes/8 {
				t.Errorf("%s: a part has %d bytes", name, size)
			}
			proto.Merge(again, p)
		}
		if c, err := content.Of(again); err != nil || c.Address().String() != address {
			t.Errorf("%s: the content has another address: %v", name, err)
		}
		other := run(t, roomy(), t.Output(), nil, nil)
		if twice := stored(t, other.client(), parts...); twice != address {
			t.Errorf("%s: put again it is %s, not %s", name, twice, address)
		}
	}
	for address, reason := range map[string]string{strings.Repeat("0", 64): "UNKNOWN_SNAPSHOT", "x": "INVALID_REQUEST", "": "INVALID_REQUEST"} {
		if _, err := gotten(t, r, address); reasonOf(err) != reason {
			t.Errorf("GetSnapshot of %q: %v, want %s", address, err, reason)
		}
	}
}

// stored puts parts of a cluster and returns the address.
func stored(t *testing.T, c stowagev1.PlacementServiceClient, parts ...*stowagev1.Cluster) string {
	t.Helper()
	var steps []*stowagev1.PutSnapshotRequest
	for _, p := range parts {
		steps = append(steps, part(p))
	}
	got, err := put(t, c, append(steps, end(""))...)
	if err != nil {
		t.Fatal(err)
	}
	return got.GetAddress()
}

// roomy is a configuration with room for large snapshots.
func roomy() config.Config {
	c := testConfig()
	c.MaxReceiveMessageBytes, c.MaxInFlightBytes, c.MaxSnapshotBytes = 64<<20, 128<<20, 1<<30
	return c
}
