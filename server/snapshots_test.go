package server

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/protobuf/proto"

	"github.com/stowage-scheduler/stowage/proto/content"
	stowagev1 "github.com/stowage-scheduler/stowage/proto/stowage/v1"
)

func part(c *stowagev1.Cluster) *stowagev1.PutSnapshotRequest {
	return &stowagev1.PutSnapshotRequest{Step: &stowagev1.PutSnapshotRequest_Part{Part: c}}
}

func onto(address string) *stowagev1.PutSnapshotRequest {
	return &stowagev1.PutSnapshotRequest{Step: &stowagev1.PutSnapshotRequest_BaseAddress{BaseAddress: address}}
}

func delta(d *stowagev1.ClusterDelta) *stowagev1.PutSnapshotRequest {
	return &stowagev1.PutSnapshotRequest{Step: &stowagev1.PutSnapshotRequest_Delta{Delta: d}}
}

// end has no address for "".
func end(address string) *stowagev1.PutSnapshotRequest {
	e := &stowagev1.PutSnapshotEnd{}
	if address != "" {
		e.Address = &address
	}
	return &stowagev1.PutSnapshotRequest{Step: &stowagev1.PutSnapshotRequest_End{End: e}}
}

// put sends messages.
func put(t *testing.T, client stowagev1.PlacementServiceClient,
	steps ...*stowagev1.PutSnapshotRequest) (*stowagev1.PutSnapshotResponse, error) {
	t.Helper()
	stream, err := client.PutSnapshot(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range steps {
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
	return &stowagev1.FilterRequest{Context: &stowagev1.DecisionContext{
		Base: &stowagev1.DecisionContext_Snapshot{Snapshot: &stowagev1.SnapshotReference{Address: address, Delta: d}},
	}, Pod: apart()}
}

func TestSnapshot(t *testing.T) {
	client := snapshotConfig(t).client()
	whole := threeZones()
	address := addressOf(t, whole)
	_, err := client.Filter(t.Context(), filterOn(address, nil))
	if code, reason, _, _ := why(err); code != codes.FailedPrecondition || reason != "UNKNOWN_SNAPSHOT" {
		t.Errorf("before it was put: %v %s", code, reason)
	}
	if _, err := put(t, client, end(address)); err == nil {
		t.Error("the server says that it has what was not put")
	}
	parts := []*stowagev1.PutSnapshotRequest{
		part(&stowagev1.Cluster{Nodes: whole.Nodes[:1]}), part(&stowagev1.Cluster{Nodes: whole.Nodes[1:]}),
	}
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
		Context: &stowagev1.DecisionContext{
			Base: &stowagev1.DecisionContext_Cluster{
				Cluster: &stowagev1.Cluster{Nodes: []*stowagev1.Node{whole.Nodes[0], whole.Nodes[2]}},
			},
		}, Pod: apart(),
	})
	if err != nil {
		t.Fatal(err)
	}
	byDelta, err := client.Filter(t.Context(), filterOn(address, d))
	if err != nil || !proto.Equal(inline, byDelta) {
		t.Errorf("%v: by delta %v, in the request %v", err, byDelta, inline)
	}
	for _, expected := range []string{inline.SnapshotAddress, ""} { // or the caller leaves it to the server
		answer, err := put(t, client, onto(address), delta(d), end(expected))
		if err != nil || answer.Address != inline.SnapshotAddress {
			t.Fatalf("%v: %v, want address %s", err, answer, inline.SnapshotAddress)
		}
	}
	kept, err := client.Filter(t.Context(), filterOn(inline.SnapshotAddress, nil))
	if err != nil || !proto.Equal(inline, kept) {
		t.Errorf("%v: by address %v, in the request %v", err, kept, inline)
	}
}

func TestBadPuts(t *testing.T) { //nolint:funlen // a table of cases
	client := snapshotConfig(t).client()
	whole := threeZones()
	base, err := put(t, client, part(whole), end(""))
	if err != nil {
		t.Fatal(err)
	}
	first, second := &stowagev1.Cluster{Nodes: whole.Nodes[:1]}, &stowagev1.Cluster{Nodes: whole.Nodes[1:]}
	twoNodes, err := put(t, client, part(&stowagev1.Cluster{Nodes: whole.Nodes[:2]}), end(""))
	if err != nil {
		t.Fatal(err)
	}
	withoutA := &stowagev1.ClusterDelta{RemovedNodes: []string{whole.Nodes[0].Name}}
	onlyBC := addressOf(t, second)
	other := strings.Repeat("0", 64)
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
		"nothing": {nil, codes.InvalidArgument, "INVALID_REQUEST", "end"},
		"cut off": {[]*stowagev1.PutSnapshotRequest{part(whole)}, codes.InvalidArgument, "INVALID_REQUEST", "end"},
		"no step": {[]*stowagev1.PutSnapshotRequest{{}}, codes.InvalidArgument, "INVALID_REQUEST", "step"},
		"after the end": {
			[]*stowagev1.PutSnapshotRequest{part(whole), end(""), part(whole)}, codes.InvalidArgument, "INVALID_REQUEST", "end",
		},
		"a node twice": {
			[]*stowagev1.PutSnapshotRequest{part(whole), part(whole), end("")}, codes.InvalidArgument, "INVALID_REQUEST",
			"part.nodes[3].name",
		},
		"forged address": {[]*stowagev1.PutSnapshotRequest{part(whole), end(other)}, codes.InvalidArgument, "ADDRESS_MISMATCH", ""},
		"no address": {
			[]*stowagev1.PutSnapshotRequest{part(whole), end("x")}, codes.InvalidArgument, "INVALID_REQUEST", "end.address",
		},
		"unknown base": {
			[]*stowagev1.PutSnapshotRequest{onto(other), end(other)}, codes.FailedPrecondition, "UNKNOWN_SNAPSHOT", "",
		},
		"delta without base": {
			[]*stowagev1.PutSnapshotRequest{delta(nil), end(other)}, codes.InvalidArgument, "INVALID_REQUEST", "base_address",
		},
		"malformed base": {[]*stowagev1.PutSnapshotRequest{onto("x")}, codes.InvalidArgument, "INVALID_REQUEST", "base_address"},
		"two bases": {
			[]*stowagev1.PutSnapshotRequest{onto(base.Address), onto(base.Address)}, codes.InvalidArgument, "INVALID_REQUEST",
			"base_address",
		},
		"base after part": {
			[]*stowagev1.PutSnapshotRequest{part(whole), onto(base.Address)}, codes.InvalidArgument, "INVALID_REQUEST", "base_address",
		},
		"an empty address": {
			[]*stowagev1.PutSnapshotRequest{
				part(whole), {Step: &stowagev1.PutSnapshotRequest_End{End: &stowagev1.PutSnapshotEnd{Address: new("")}}},
			},
			codes.InvalidArgument, "INVALID_REQUEST", "end.address",
		},
		"delta, forged": {
			[]*stowagev1.PutSnapshotRequest{onto(base.Address), delta(nil), end(other)}, codes.InvalidArgument, "ADDRESS_MISMATCH", "",
		},
		"delta on another base": {
			[]*stowagev1.PutSnapshotRequest{onto(twoNodes.Address), delta(withoutA), end(onlyBC)}, codes.InvalidArgument,
			"ADDRESS_MISMATCH", "",
		},
		"delta, too large": {
			[]*stowagev1.PutSnapshotRequest{onto(base.Address), delta(&stowagev1.ClusterDelta{Nodes: huge.Nodes}),
				end(addressOf(t, &stowagev1.Cluster{
					Nodes: slices.Concat(whole.Nodes, huge.Nodes),
				}))},
			codes.ResourceExhausted, "SNAPSHOT_TOO_LARGE", "",
		},
		"delta that does not fit": {
			[]*stowagev1.PutSnapshotRequest{onto(base.Address), delta(&stowagev1.ClusterDelta{RemovedNodes: []string{"x"}}), end(other)},
			codes.InvalidArgument, "INVALID_REQUEST", "delta.removed_nodes[0]",
		},
		"part after delta": {
			[]*stowagev1.PutSnapshotRequest{onto(base.Address), delta(nil), part(whole)}, codes.InvalidArgument, "INVALID_REQUEST", "part",
		},
		"delta after part": {
			[]*stowagev1.PutSnapshotRequest{part(whole), delta(nil)}, codes.InvalidArgument, "INVALID_REQUEST", "delta",
		},
		"too large": {[]*stowagev1.PutSnapshotRequest{part(huge), end("")}, codes.ResourceExhausted, "SNAPSHOT_TOO_LARGE", ""},
	} {
		_, err := put(t, client, test.steps...)
		code, reason, _, bad := why(err)
		if code != test.code || reason != test.reason {
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
	for what, address := range map[string]string{
		"the first part": addressOf(t, first), "the rest": onlyBC, "what is too large": addressOf(t, huge), "a forged address": other,
	} {
		if !unknown(client.Filter(t.Context(), filterOn(address, nil))) {
			t.Errorf("%s is known", what)
		}
	}
	for name, test := range map[string]struct {
		request *stowagev1.FilterRequest
		reason  string
		field   string
	}{
		"unknown base":        {filterOn(other, withoutA), "UNKNOWN_SNAPSHOT", ""},
		"no address":          {filterOn("", withoutA), "INVALID_REQUEST", "context.snapshot.address"},
		"address in capitals": {filterOn(strings.ToUpper(base.Address), nil), "INVALID_REQUEST", "context.snapshot.address"},
		"delta that does not fit": {
			filterOn(onlyTwo(t, client, whole), withoutA), "INVALID_REQUEST", "context.snapshot.delta.removed_nodes[0]",
		},
		"neither cluster nor snapshot": {
			&stowagev1.FilterRequest{Context: &stowagev1.DecisionContext{}, Pod: apart()}, "INVALID_REQUEST", "context.base",
		},
		"no context": {&stowagev1.FilterRequest{Pod: apart()}, "INVALID_REQUEST", "context"},
	} {
		_, err := client.Filter(t.Context(), test.request)
		_, reason, _, bad := why(err)
		if reason != test.reason || test.field != "" && (len(bad) == 0 || bad[0].GetField() != test.field) {
			t.Errorf("Filter, %s: got %s %v: %v", name, reason, bad, err)
		}
	}
}

// unknown reports whether a call failed because the server does not have the snapshot.
func unknown[T any](_ T, err error) bool {
	code, reason, _, _ := why(err)
	return code == codes.FailedPrecondition && reason == "UNKNOWN_SNAPSHOT"
}

// TestCutOff ends streams in the middle in ways other than closing them in order.
func TestCutOff(t *testing.T) {
	c := testConfig()
	c.MaxSnapshotBytes = 1 << 20
	c.MaxInFlightBytes = int64(c.MaxReceiveMessageBytes)
	c.MaxRequestDuration = 200 * time.Millisecond
	r := run(t, c, t.Output(), nil, nil)
	whole := threeZones()
	for name, cut := range map[string]func(cancel func(), conn *grpc.ClientConn, stream grpc.ClientStream) error{
		"cancelled":         func(cancel func(), _ *grpc.ClientConn, _ grpc.ClientStream) error { cancel(); return nil },
		"connection closed": func(_ func(), conn *grpc.ClientConn, _ grpc.ClientStream) error { return conn.Close() },
		"stalled": func(_ func(), _ *grpc.ClientConn, stream grpc.ClientStream) error {
			err := stream.RecvMsg(new(stowagev1.PutSnapshotResponse))
			if code, reason, _, _ := why(err); code != codes.DeadlineExceeded || reason != "CANCELLED" {
				return fmt.Errorf("a stream that goes on too long ends with %w", err)
			}
			return nil
		},
	} {
		t.Run(name, func(t *testing.T) {
			conn, err := grpc.NewClient(r.Address().String(), grpc.WithTransportCredentials(insecure.NewCredentials()))
			if err != nil {
				t.Fatal(err)
			}
			defer conn.Close()
			ctx, cancel := context.WithTimeout(t.Context(), patience)
			defer cancel()
			stream, err := stowagev1.NewPlacementServiceClient(conn).PutSnapshot(ctx)
			if err != nil {
				t.Fatal(err)
			}
			whole.Nodes[0].Labels["cut"] = strings.Repeat("x", 40) + name
			if err := stream.Send(part(whole)); err != nil && !errors.Is(err, io.EOF) { // which says that it has ended already
				t.Fatal(err)
			}
			if err := cut(cancel, conn, stream); err != nil {
				t.Fatal(err)
			}
			eventually(t, "the stream's bytes are released", func() bool {
				_, err := r.client().Filter(t.Context(), &stowagev1.FilterRequest{
					Context: &stowagev1.DecisionContext{
						Base: &stowagev1.DecisionContext_Cluster{Cluster: whole},
					}, Pod: &stowagev1.Pod{Name: string(make([]byte, c.MaxReceiveMessageBytes-1000))},
				})
				_, reason, _, _ := why(err)
				return reason != "OVERLOADED"
			})
			// Any of these calls may itself last longer than the server allows.
			eventually(t, "what came of the stream is unknown", func() bool {
				return unknown(r.client().Filter(t.Context(), filterOn(addressOf(t, whole), nil)))
			})
			eventually(t, "the whole is put", func() bool {
				_, err := put(t, r.client(), part(whole), end(""))
				return err == nil
			})
		})
	}
}

// TestEvicted puts until a snapshot has made room for others, between one call and the next.
func TestEvicted(t *testing.T) {
	client := snapshotConfig(t).client()
	whole := threeZones()
	kept, err := put(t, client, part(whole), end(""))
	if err != nil {
		t.Fatal(err)
	}
	want, err := client.Filter(t.Context(), filterOn(kept.Address, nil))
	if err != nil {
		t.Fatal(err)
	}
	evict := func() {
		t.Helper()
		for i := range 1000 {
			other := threeZones()
			other.Nodes[0].Labels["other"] = fmt.Sprint(i)
			if _, err := put(t, client, part(other), end("")); err != nil {
				t.Fatal(err)
			}
		}
	}
	evict()
	none := &stowagev1.ClusterDelta{RemovedNodes: []string{"node-b"}}
	if !unknown(client.Filter(t.Context(), filterOn(kept.Address, nil))) ||
		!unknown(client.Filter(t.Context(), filterOn(kept.Address, none))) {
		t.Error("the snapshot is still there")
	}
	if !unknown(put(t, client, onto(kept.Address), delta(none), end(strings.Repeat("0", 64)))) {
		t.Error("a delta finds its base still there")
	}
	if _, err := put(t, client, part(whole), end(kept.Address)); err != nil {
		t.Error(err)
	}
	if got, err := client.Filter(t.Context(), filterOn(kept.Address, nil)); err != nil || !proto.Equal(want, got) {
		t.Errorf("put again: got %v, %v, before %v", got, err, want)
	}
	// A base that goes while deltas on it come stays until the stream ends.
	last := end(addressOf(t, &stowagev1.Cluster{Nodes: []*stowagev1.Node{whole.Nodes[0], whole.Nodes[2]}}))
	for wait := 50 * time.Millisecond; ; wait *= 2 {
		if _, err := put(t, client, part(whole), end(kept.Address)); err != nil {
			t.Fatal(err)
		}
		stream, err := client.PutSnapshot(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		for _, step := range []*stowagev1.PutSnapshotRequest{onto(kept.Address), delta(none)} {
			if err := stream.Send(step); err != nil {
				t.Fatal(err)
			}
		}
		time.Sleep(wait) // nothing reports that the server has the delta
		evict()
		if err := stream.Send(last); err != nil && !errors.Is(err, io.EOF) {
			t.Fatal(err)
		}
		answer, err := stream.CloseAndRecv()
		if unknown(answer, err) && wait < patience {
			continue // the base went before the delta came
		}
		if err != nil || answer.NodeCount != 2 {
			t.Errorf("a delta whose base has gone meanwhile: %v, %v", answer, err)
		}
		break
	}
}

func onlyTwo(t *testing.T, client stowagev1.PlacementServiceClient, c *stowagev1.Cluster) string {
	t.Helper()
	answer, err := put(t, client, part(&stowagev1.Cluster{Nodes: c.Nodes[1:]}), end(""))
	if err != nil {
		t.Fatal(err)
	}
	return answer.Address
}

// The memory of a snapshot does not grow with the number of deltas that led to it.
func TestChainsTakeBoundedMemory(t *testing.T) {
	client := snapshotConfig(t).client()
	stated := func(i int) *stowagev1.Cluster {
		name := fmt.Sprintf("node-%d-%s", i, strings.Repeat("x", 200))
		return &stowagev1.Cluster{Nodes: []*stowagev1.Node{{Name: name, Taints: []*stowagev1.Taint{{
			Key: "k", Value: fmt.Sprint(i), Effect: stowagev1.TaintEffect_TAINT_EFFECT_NO_SCHEDULE,
		}}}}}
	}
	last, err := put(t, client, part(stated(0)), end(""))
	if err != nil {
		t.Fatal(err)
	}
	first, most := last.MemoryBytes, uint64(0)
	for i := 1; i <= 1500; i++ {
		next := stated(i)
		d := &stowagev1.ClusterDelta{RemovedNodes: []string{stated(i - 1).Nodes[0].Name}, Nodes: next.Nodes}
		if last, err = put(t, client, onto(last.Address), delta(d), end(addressOf(t, next))); err != nil {
			t.Fatal(err)
		}
		most = max(most, last.MemoryBytes)
	}
	if most > first+500<<10 {
		t.Errorf("%d bytes at first, up to %d on the way", first, most)
	}
}
