package stowage_test

import (
	"context"
	"errors"
	"io"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/testing/protocmp"

	"github.com/stowage-scheduler/stowage/clients/stowage"
	stowagev1 "github.com/stowage-scheduler/stowage/proto/stowage/v1"
)

// PlaceStream answers in two parts, and fails after the first if the request says so by its seed.
func (r *replica) PlaceStream(m *stowagev1.PlaceStreamRequest,
	stream grpc.ServerStreamingServer[stowagev1.PlaceStreamResponse]) error {
	if err := r.look(m.Place); err != nil {
		return err
	}
	if err := stream.Send(&stowagev1.PlaceStreamResponse{PlacedCount: 3, TotalCount: 7}); err != nil {
		return err
	}
	switch m.Place.TieBreakSeed {
	case 1:
		return failure(codes.FailedPrecondition, "UNKNOWN_SNAPSHOT")
	case 2:
		return failure(codes.ResourceExhausted, "OVERLOADED", later)
	case 3:
		<-stream.Context().Done()
		return status.FromContextError(stream.Context().Err()).Err()
	}
	return stream.Send(&stowagev1.PlaceStreamResponse{PlacedCount: 7, TotalCount: 7})
}

// placed reads a whole stream, and returns the number of placed pods after each part.
func placed(ctx context.Context, c *stowage.Client, request *stowagev1.PlaceRequest) (counts []uint32, err error) {
	stream, err := c.PlaceStream(ctx, &stowagev1.PlaceStreamRequest{Place: request})
	if err != nil {
		return nil, err
	}
	for {
		part, err := stream.Recv()
		if errors.Is(err, io.EOF) {
			return counts, nil
		}
		if err != nil {
			return counts, err
		}
		counts = append(counts, part.PlacedCount)
	}
}

func about(s *stowage.Snapshot) *stowagev1.PlaceRequest {
	return &stowagev1.PlaceRequest{Context: &stowagev1.DecisionContext{
		Base: &stowagev1.DecisionContext_Snapshot{Snapshot: &stowagev1.SnapshotReference{Address: s.Address()}},
	}}
}

func TestStreamsAreOpenedAgainWhereThatHelps(t *testing.T) {
	for _, c := range []struct {
		name     string
		failures []error
		calls    int64
		want     codes.Code
	}{
		{"the replica went away", []error{status.Error(codes.Unavailable, "")}, 2, codes.OK},
		{
			"the server asks for time", []error{failure(codes.ResourceExhausted, "OVERLOADED", later),
				failure(codes.ResourceExhausted, "RATE_LIMITED", later)}, 3, codes.OK,
		},
		{"the request is malformed", []error{failure(codes.InvalidArgument, "INVALID_REQUEST")}, 1, codes.InvalidArgument},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := start(t, c.failures...)
			counts, err := placed(t.Context(), dial(t, r), &stowagev1.PlaceRequest{})
			if status.Code(err) != c.want || r.calls.Load() != c.calls || c.want == codes.OK && len(counts) != 2 {
				t.Errorf("%v %v after %d calls, want %v after %d", counts, err, r.calls.Load(), c.want, c.calls)
			}
		})
	}
}

func TestAStreamAboutAnUnknownSnapshotPutsIt(t *testing.T) {
	a, b := start(t), start(t)
	c := dial(t, a, b)
	s := snapshot(t, clusterOf("x", "y"))
	if err := c.Put(t.Context(), s); err != nil {
		t.Fatal(err)
	}
	for range 6 {
		a.forget()
		b.forget()
		counts, err := placed(t.Context(), c, about(s))
		if d := cmp.Diff([]uint32{3, 7}, counts); d != "" || err != nil {
			t.Fatal(err, d)
		}
	}
	wholesA, _ := a.puts()
	wholesB, _ := b.puts()
	if wholesA+wholesB != 7 {
		t.Errorf("%d and %d puts", wholesA, wholesB)
	}
}

func TestAStreamThatHasBegunIsNotOpenedAgain(t *testing.T) {
	r := start(t)
	c := dial(t, r)
	s := snapshot(t, clusterOf("x", "y"))
	if err := c.Put(t.Context(), s); err != nil {
		t.Fatal(err)
	}
	for seed, want := range map[uint64]codes.Code{1: codes.FailedPrecondition, 2: codes.ResourceExhausted} {
		r.calls.Store(0)
		request := about(s)
		request.TieBreakSeed = seed
		counts, err := placed(t.Context(), c, request)
		if status.Code(err) != want || len(counts) != 1 || r.calls.Load() != 1 {
			t.Errorf("%v, %v after %d calls", counts, err, r.calls.Load())
		}
	}
}

func TestAStreamEndsAtItsDeadline(t *testing.T) {
	c := dial(t, start(t))
	var counts []uint32
	for timeout := 50 * time.Millisecond; len(counts) == 0 && timeout < time.Minute; timeout *= 2 { // the first part comes in time
		ctx, cancel := context.WithTimeout(t.Context(), timeout)
		defer cancel()
		var err error
		if counts, err = placed(ctx, c, &stowagev1.PlaceRequest{TieBreakSeed: 3}); status.Code(err) != codes.DeadlineExceeded {
			t.Error(counts, err)
		}
	}
	if len(counts) != 1 {
		t.Error(counts)
	}
	// No time is left for what the server asks for.
	busy := start(t, failure(codes.ResourceExhausted, "OVERLOADED", later), failure(codes.ResourceExhausted, "OVERLOADED", later))
	ctx, cancel := context.WithTimeout(t.Context(), 0)
	defer cancel()
	if _, err := placed(ctx, dial(t, busy), &stowagev1.PlaceRequest{}); status.Code(err) != codes.DeadlineExceeded {
		t.Error(err)
	}
}

func nodes(names ...string) *stowagev1.NodeList {
	out := &stowagev1.NodeList{Names: names}
	for range names {
		out.Indexes = append(out.Indexes, 0)
	}
	return out
}

func TestParts(t *testing.T) {
	request := &stowagev1.PlaceRequest{
		Queue: []*stowagev1.PendingPods{
			{Count: new(uint32(5))}, {PodGroup: "g"}, {Count: new(uint32(2)), PodGroup: "h"}, {Count: new(uint32(3))},
		},
		PodGroups: []*stowagev1.PodGroup{{Name: "h"}, {Name: "g"}},
	}
	parts := []*stowagev1.PlaceStreamResponse{
		{
			Placements:  []*stowagev1.QueuePlacement{{QueueIndex: 0, Placement: &stowagev1.Placement{Nodes: nodes("a", "b")}}},
			PlacedCount: 2, TotalCount: 11,
		},
		{
			Placements: []*stowagev1.QueuePlacement{
				{QueueIndex: 0, Placement: &stowagev1.Placement{Nodes: nodes("c"), UnplacedCount: 2, Message: "full"}},
				{QueueIndex: 1, Placement: &stowagev1.Placement{Nodes: nodes("a"), TotalScores: []int64{4}}},
			},
			PodGroups: []*stowagev1.PodGroupPlacement{
				{Name: "g", Status: stowagev1.PodGroupStatus_POD_GROUP_STATUS_COMPLETE, PlacedCount: 1},
			},
			PlacedCount: 4, UnplacedCount: 2, TotalCount: 11, SnapshotAddress: "x",
		},
	}
	build := func() *stowage.Parts {
		p := stowage.NewParts(request)
		for _, part := range parts {
			if err := p.Add(part); err != nil {
				t.Fatal(err)
			}
		}
		return p
	}
	want := &stowagev1.PlaceResponse{
		Placements: []*stowagev1.Placement{
			{Nodes: nodes("a", "b", "c"), UnplacedCount: 2, Message: "full"},
			{Nodes: nodes("a"), TotalScores: []int64{4}}, {Nodes: nodes()}, {Nodes: nodes()},
		},
		PodGroups: []*stowagev1.PodGroupPlacement{
			{Name: "h"}, {Name: "g", Status: stowagev1.PodGroupStatus_POD_GROUP_STATUS_COMPLETE, PlacedCount: 1},
		},
		PlacedCount: 4, UnplacedCount: 2, SnapshotAddress: "x",
	}
	p := build()
	if d := cmp.Diff(want, p.Answer(), protocmp.Transform()); d != "" || p.TotalCount() != 11 {
		t.Error(d, p.TotalCount())
	}
	p.Cut()
	want.Partial, want.UnplacedCount = true, 7
	want.Placements[2] = &stowagev1.Placement{Nodes: nodes(), UnplacedCount: 2, UnattemptedCount: 2}
	want.Placements[3] = &stowagev1.Placement{Nodes: nodes(), UnplacedCount: 3, UnattemptedCount: 3}
	want.PodGroups[0] = &stowagev1.PodGroupPlacement{
		Name: "h", Status: stowagev1.PodGroupStatus_POD_GROUP_STATUS_UNATTEMPTED, UnplacedCount: 2,
	}
	if d := cmp.Diff(want, p.Answer(), protocmp.Transform()); d != "" {
		t.Error(d)
	}
	for _, foreign := range []*stowagev1.PlaceStreamResponse{
		{Placements: []*stowagev1.QueuePlacement{{QueueIndex: 4}}},
	} {
		if err := build().Add(foreign); err == nil {
			t.Errorf("took %v", foreign)
		}
	}
}

// TestPartsOfAQueueThatIsCut: evictions precede placements, and an evicted pod counts from its placement on.
func TestPartsOfAQueueThatIsCut(t *testing.T) {
	p := stowage.NewParts(&stowagev1.PlaceRequest{
		QueueMode: stowagev1.QueueMode_QUEUE_MODE_KUBE_SCHEDULER,
		Queue:     []*stowagev1.PendingPods{{Count: new(uint32(3))}, {Count: new(uint32(2))}},
	})
	for _, part := range []*stowagev1.PlaceStreamResponse{
		{Evictions: []*stowagev1.Eviction{{QueueIndex: 1}, {QueueIndex: 1, NodeIndex: new(uint32(2))}}, EvictedCount: 2, TotalCount: 5},
		{
			Placements:  []*stowagev1.QueuePlacement{{Placement: &stowagev1.Placement{Nodes: nodes("a", "b"), EvictedCount: 1}}},
			PlacedCount: 2, EvictedCount: 2, TotalCount: 5,
		},
	} {
		if err := p.Add(part); err != nil {
			t.Fatal(err)
		}
	}
	p.Cut()
	want := &stowagev1.PlaceResponse{
		Placements: []*stowagev1.Placement{
			{Nodes: nodes("a", "b"), EvictedCount: 1}, {Nodes: nodes(), UnplacedCount: 2, UnattemptedCount: 2},
		},
		Evictions:   []*stowagev1.Eviction{{QueueIndex: 1}, {QueueIndex: 1, NodeIndex: new(uint32(2))}},
		PlacedCount: 2, UnplacedCount: 2, EvictedCount: 1, Partial: true,
	}
	if d := cmp.Diff(want, p.Answer(), protocmp.Transform()); d != "" {
		t.Error(d)
	}
}
