package wire_test

import (
	"bytes"
	"slices"
	"testing"

	"google.golang.org/grpc/mem"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"

	stowagev1 "github.com/stowage-scheduler/stowage/proto/stowage/v1"
	"github.com/stowage-scheduler/stowage/server/wire"
)

// TestClusterOfARequest receives requests with a cluster at the end of a path, in frames split at any offset. It expects the
// cluster in Cluster and an empty one in Message.
func TestClusterOfARequest(t *testing.T) {
	cluster := &stowagev1.Cluster{Nodes: []*stowagev1.Node{{Name: "a"}, {Name: "b"}}}
	place := &stowagev1.PlaceRequest{
		Context: &stowagev1.DecisionContext{
			Base:    &stowagev1.DecisionContext_Cluster{Cluster: cluster},
			Profile: &stowagev1.Profile{Name: "kube-1.37"}, IncludeNodeNames: true,
		},
		Queue: []*stowagev1.PendingPods{{PodGroup: "g"}}, TieBreakSeed: 7,
	}
	raw := marshalled(t, &stowagev1.PlaceStreamRequest{Place: place, PodsPerMessage: new(uint32(3))})
	want := &stowagev1.PlaceStreamRequest{Place: proto.CloneOf(place), PodsPerMessage: new(uint32(3))}
	want.Place.Context.Base = &stowagev1.DecisionContext_Cluster{Cluster: &stowagev1.Cluster{}}
	// Concatenated messages are merged, and so are their clusters.
	more := marshalled(t, &stowagev1.PlaceStreamRequest{Place: &stowagev1.PlaceRequest{Context: place.Context, AllowPartial: true}})
	merged := proto.CloneOf(want)
	merged.Place.AllowPartial = true
	for _, test := range []struct {
		raw     []byte
		want    *stowagev1.PlaceStreamRequest
		cluster []byte
	}{
		{raw, want, marshalled(t, cluster)},
		{slices.Concat(raw, more), merged, bytes.Repeat(marshalled(t, cluster), 2)},
	} {
		for at := range test.raw {
			got := new(stowagev1.PlaceStreamRequest)
			in := wire.NewRequest(got, 1, 1, 1)
			frames := mem.BufferSlice{mem.SliceBuffer(test.raw[:at]), mem.SliceBuffer(test.raw[at:])}
			if err := wire.NewCodec().Unmarshal(frames, in); err != nil || in.Decode() != nil {
				t.Fatal(err, in.Err())
			}
			if cluster := bytes.Join(in.Cluster, nil); !proto.Equal(got, test.want) || !bytes.Equal(cluster, test.cluster) {
				t.Fatalf("cut at %d: got %v and a cluster of %x, want %v and %x", at, got, cluster, test.want, test.cluster)
			}
			in.Free()
		}
	}
}

// TestMalformedPath receives malformed messages on the path to a cluster.
func TestMalformedPath(t *testing.T) {
	for _, inner := range [][]byte{{7}, {0x0a, 5, 1}, {0x0a}} {
		raw := protowire.AppendBytes(protowire.AppendTag(nil, 1, protowire.BytesType), inner)
		in := wire.NewRequest(new(stowagev1.FilterRequest), 1, 1)
		if err := wire.NewCodec().Unmarshal(mem.BufferSlice{mem.SliceBuffer(raw)}, in); err != nil || in.Decode() == nil ||
			in.Cluster != nil {
			t.Errorf("%x: %v, %v, %v", raw, err, in.Err(), in.Cluster)
		}
	}
}

func marshalled(t *testing.T, m proto.Message) []byte {
	t.Helper()
	raw, err := proto.Marshal(m)
	if err != nil {
		t.Fatal(err)
	}
	return raw
}
