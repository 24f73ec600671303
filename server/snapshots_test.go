package server

import (
	"fmt"
	"strings"
	"sync"
	"testing"

	"google.golang.org/grpc/codes"
	"google.golang.org/protobuf/proto"

	"github.com/stowage-scheduler/stowage/proto/content"
	stowagev1 "github.com/stowage-scheduler/stowage/proto/stowage/v1"
)

func part(c *stowagev1.Cluster) *stowagev1.PutSnapshotRequest {
	return &stowagev1.PutSnapshotRequest{Step: &stowagev1.PutSnapshotRequest_Part{Part: c}}
}

func delta(address string, d *stowagev1.ClusterDelta) *stowagev1.PutSnapshotRequest {
	return &stowagev1.PutSnapshotRequest{Step: &stowagev1.PutSnapshotRequest_Delta{
		Delta: &stowagev1.SnapshotReference{Address: address, Delta: d},
	}}
}

func end(address string) *stowagev1.PutSnapshotRequest {
	return &stowagev1.PutSnapshotRequest{Step: &stowagev1.PutSnapshotRequest_End{End: &stowagev1.PutSnapshotEnd{Address: address}}}
}

// put sends messages, numbered in order unless they have numbers.
func put(t *testing.T, client stowagev1.PlacementServiceClient, steps ...*stowagev1.PutSnapshotRequest) (*stowagev1.PutSnapshotResponse, error) {
	t.Helper()
	stream, err := client.PutSnapshot(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for i, s := range steps {
		if s.Sequence == 0 {
			s.Sequence = uint32(i)
		}
		if stream.Send(s) != nil {
			break // the server has refused an earlier one
		}
	}
	return stream.CloseAndRecv()
}

func addressOf(t *testing.T, c *stowagev1.Cluster) string {
	t.Helper()
	of, err := content.Of(c)
	if err != nil {
		t.Fatal(err)
	}
	return of.Address().String()
}

func snapshotConfig(t *testing.T) *running {
	t.Helper()
	c := testConfig()
	c.MaxSnapshotBytes = 1 << 20
	return run(t, c, t.Output(), nil, nil)
}

func filterOn(address string, d *stowagev1.ClusterDelta) *stowagev1.FilterRequest {
	return &stowagev1.FilterRequest{Snapshot: &stowagev1.SnapshotReference{Address: address, Delta: d}, Pod: apart()}
}

func TestSnapshot(t *testing.T) {
	client := snapshotConfig(t).client()
	whole := threeZones()
	address := addressOf(t, whole)
	_, err := client.Filter(t.Context(), filterOn(address, nil))
	if code, reason, _, _ := why(err); code != codes.FailedPrecondition || reason != "stowage/UNKNOWN_SNAPSHOT" {
		t.Errorf("before it was put: %v %s", code, reason)
	}
	if _, err := put(t, client, end(address)); err == nil {
		t.Error("the server says that it has what was not put")
	}
	parts := []*stowagev1.PutSnapshotRequest{part(&stowagev1.Cluster{Nodes: whole.Nodes[:1]}), part(&stowagev1.Cluster{Nodes: whole.Nodes[1:]})}
	answer, err := put(t, client, append(parts, end(address))...)
	if err != nil || answer.Address != address || answer.NodeCount != 3 || answer.MemoryBytes == 0 {
		t.Fatalf("%v, %v, want address %s", err, answer, address)
	}
	if _, err := put(t, client, end(address)); err != nil {
		t.Errorf("the server does not say that it has what was put: %v", err)
	}
	// A delta for one request, and the same kept.
	d := &stowagev1.ClusterDelta{RemovedNodes: []string{"node-b"}}
	inline, err := client.Filter(t.Context(), &stowagev1.FilterRequest{
		Cluster: &stowagev1.Cluster{Nodes: []*stowagev1.Node{whole.Nodes[0], whole.Nodes[2]}}, Pod: apart(),
	})
	if err != nil {
		t.Fatal(err)
	}
	byDelta, err := client.Filter(t.Context(), filterOn(address, d))
	if err != nil || !proto.Equal(inline, byDelta) {
		t.Errorf("%v: by delta %v, in the request %v", err, byDelta, inline)
	}
	if _, err := put(t, client, delta(address, d), end(inline.SnapshotAddress)); err != nil {
		t.Fatal(err)
	}
	kept, err := client.Filter(t.Context(), filterOn(inline.SnapshotAddress, nil))
	if err != nil || !proto.Equal(inline, kept) {
		t.Errorf("%v: by address %v, in the request %v", err, kept, inline)
	}
}

func TestBadPuts(t *testing.T) {
	client := snapshotConfig(t).client()
	whole := threeZones()
	base, err := put(t, client, part(whole), end(""))
	if err != nil {
		t.Fatal(err)
	}
	other := strings.Repeat("0", 64)
	out := func(s *stowagev1.PutSnapshotRequest, sequence uint32) *stowagev1.PutSnapshotRequest {
		s.Sequence = sequence
		return s
	}
	huge := &stowagev1.Cluster{}
	for i := range 4000 {
		huge.Nodes = append(huge.Nodes, &stowagev1.Node{Name: fmt.Sprintf("%0200d", i)})
	}
	for name, test := range map[string]struct {
		steps  []*stowagev1.PutSnapshotRequest
		code   codes.Code
		reason string
		field  string
	}{
		"nothing":            {nil, codes.InvalidArgument, "INVALID_REQUEST", "end"},
		"cut off":            {[]*stowagev1.PutSnapshotRequest{part(whole)}, codes.InvalidArgument, "INVALID_REQUEST", "end"},
		"no step":            {[]*stowagev1.PutSnapshotRequest{{}}, codes.InvalidArgument, "INVALID_REQUEST", "step"},
		"out of order":       {[]*stowagev1.PutSnapshotRequest{part(whole), out(end(""), 2)}, codes.InvalidArgument, "INVALID_REQUEST", "sequence"},
		"after the end":      {[]*stowagev1.PutSnapshotRequest{part(whole), end(""), part(whole)}, codes.InvalidArgument, "INVALID_REQUEST", "sequence"},
		"a node twice":       {[]*stowagev1.PutSnapshotRequest{part(whole), part(whole), end("")}, codes.InvalidArgument, "INVALID_REQUEST", "part.nodes[3].name"},
		"forged address":     {[]*stowagev1.PutSnapshotRequest{part(whole), end(other)}, codes.InvalidArgument, "ADDRESS_MISMATCH", ""},
		"no address":         {[]*stowagev1.PutSnapshotRequest{part(whole), end("x")}, codes.InvalidArgument, "INVALID_REQUEST", "end.address"},
		"delta without base": {[]*stowagev1.PutSnapshotRequest{delta(other, nil), end(other)}, codes.FailedPrecondition, "UNKNOWN_SNAPSHOT", ""},
		"delta, no address":  {[]*stowagev1.PutSnapshotRequest{delta(base.Address, nil), end("")}, codes.InvalidArgument, "INVALID_REQUEST", "end.address"},
		"delta, forged":      {[]*stowagev1.PutSnapshotRequest{delta(base.Address, nil), end(other)}, codes.InvalidArgument, "ADDRESS_MISMATCH", ""},
		"delta that does not fit": {
			[]*stowagev1.PutSnapshotRequest{delta(base.Address, &stowagev1.ClusterDelta{RemovedNodes: []string{"x"}}), end(other)},
			codes.InvalidArgument, "INVALID_REQUEST", "delta.delta.removed_nodes[0]",
		},
		"part after delta": {[]*stowagev1.PutSnapshotRequest{delta(base.Address, nil), part(whole)}, codes.InvalidArgument, "INVALID_REQUEST", "part"},
		"delta after part": {[]*stowagev1.PutSnapshotRequest{part(whole), delta(base.Address, nil)}, codes.InvalidArgument, "INVALID_REQUEST", "delta"},
		"too large":        {[]*stowagev1.PutSnapshotRequest{part(huge), end("")}, codes.ResourceExhausted, "SNAPSHOT_TOO_LARGE", ""},
	} {
		_, err := put(t, client, test.steps...)
		code, reason, _, bad := why(err)
		if code != test.code || reason != "stowage/"+test.reason {
			t.Errorf("%s: got %v %s: %v", name, code, reason, err)
			continue
		}
		if test.field != "" && (len(bad) == 0 || bad[0].GetField() != test.field) {
			t.Errorf("%s: got %v, want field %s", name, bad, test.field)
		}
	}
	if _, err := client.Filter(t.Context(), filterOn(base.Address, nil)); err != nil {
		t.Errorf("after all that: %v", err)
	}
}

// TestManyPuts puts more than there is room for, from many callers at once.
func TestManyPuts(t *testing.T) {
	r := snapshotConfig(t)
	var all sync.WaitGroup
	for i := range 50 {
		all.Go(func() {
			c := threeZones()
			c.Nodes[0].Labels["caller"] = strings.Repeat("x", 1+i)
			for range 5 {
				answer, err := put(t, r.client(), part(c), end(""))
				if err != nil {
					t.Error(err)
					return
				}
				got, err := r.client().Filter(t.Context(), filterOn(answer.Address, nil))
				if code, reason, _, _ := why(err); err != nil && (code != codes.FailedPrecondition || reason != "stowage/UNKNOWN_SNAPSHOT") {
					t.Errorf("%v %s", code, reason)
				} else if err == nil && len(got.GetFeasibleNodes().GetIndexes()) != 3 {
					t.Errorf("got %v", got)
				}
			}
		})
	}
	all.Wait()
}
