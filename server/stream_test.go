package server

import (
	"context"
	"errors"
	"io"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/testing/protocmp"

	stowagev1 "github.com/stowage-scheduler/stowage/proto/stowage/v1"
)

// parts receives the answer to a PlaceStreamRequest.
func parts(ctx context.Context, client stowagev1.PlacementServiceClient,
	r *stowagev1.PlaceStreamRequest) ([]*stowagev1.PlaceStreamResponse, error) {
	stream, err := client.PlaceStream(ctx, r)
	if err != nil {
		return nil, err
	}
	var all []*stowagev1.PlaceStreamResponse
	for {
		m, err := stream.Recv()
		if errors.Is(err, io.EOF) {
			return all, nil
		}
		if err != nil {
			return all, err
		}
		all = append(all, m)
	}
}

// together puts the parts of an answer together, as the contract says.
func together(queue int, parts []*stowagev1.PlaceStreamResponse) *stowagev1.PlaceResponse {
	last := parts[len(parts)-1]
	sum := &stowagev1.PlaceResponse{
		PlacedCount: last.PlacedCount, UnplacedCount: last.UnplacedCount,
		SnapshotAddress: last.SnapshotAddress, Partial: last.Partial, EvictedCount: last.EvictedCount, Doubts: last.Doubts,
	}
	for range queue {
		sum.Placements = append(sum.Placements, &stowagev1.Placement{Nodes: &stowagev1.NodeList{}})
	}
	for _, p := range parts {
		for _, q := range p.Placements {
			to, from := sum.Placements[q.QueueIndex], q.Placement
			nodes := to.Nodes
			nodes.Indexes = append(nodes.Indexes, from.GetNodes().GetIndexes()...)
			nodes.Names = append(nodes.Names, from.GetNodes().GetNames()...)
			from.Nodes = nil
			from.TotalScores = append(to.TotalScores, from.TotalScores...)
			from.Nodes = nodes
			sum.Placements[q.QueueIndex] = from
		}
		sum.PodGroups = append(sum.PodGroups, p.PodGroups...)
		sum.Evictions = append(sum.Evictions, p.Evictions...)
	}
	return sum
}

// queued is a queue with a group in order, a group that is placed jointly, and one that cannot be placed.
func queued() *stowagev1.PlaceRequest {
	r := placeApart(4)
	r.Explain = true
	plain := func(count uint32, group string) *stowagev1.PendingPods {
		return &stowagev1.PendingPods{
			Pod:   &stowagev1.Pod{Source: &stowagev1.Pod_Template{Template: &stowagev1.PodTemplate{Spec: &stowagev1.PodSpec{}}}},
			Count: new(count), PodGroup: group,
		}
	}
	together := plain(2, "joint")
	others := plain(4, "too many")
	others.Pod = apart()
	r.Queue = append(r.Queue, plain(5, ""), together, others, plain(3, ""), plain(2, "gang"), plain(1, "joint"))
	r.PodGroups = []*stowagev1.PodGroup{
		{Name: "joint", Mode: stowagev1.PodGroupMode_POD_GROUP_MODE_JOINT},
		{Name: "too many"},
		{Name: "gang", MinCount: new(uint32(1))},
		{Name: "of none"},
	}
	return r
}

func TestPlaceStream(t *testing.T) {
	client := run(t, testConfig(), t.Output(), nil, nil).client()
	want, err := client.Place(t.Context(), queued())
	if err != nil {
		t.Fatal(err)
	}
	for per, messages := range map[uint32]int{1: 16, 5: 4, 256: 1} {
		all, err := parts(t.Context(), client, &stowagev1.PlaceStreamRequest{Place: queued(), PodsPerMessage: new(per)})
		if err != nil {
			t.Fatal(err)
		}
		if len(all) != messages {
			t.Errorf("%d pods a message: %d messages, want %d", per, len(all), messages)
		}
		for _, m := range all {
			if m.TotalCount != 21 {
				t.Errorf("%d in all", m.TotalCount)
			}
		}
		if diff := cmp.Diff(want, together(len(want.Placements), all), protocmp.Transform(),
			protocmp.SortRepeated(func(a, b *stowagev1.PodGroupPlacement) bool { return a.Name < b.Name })); diff != "" {
			t.Errorf("%d pods a message (-want +got):\n%s", per, diff)
		}
	}
}

func TestPlaceStreamRefuses(t *testing.T) {
	client := run(t, testConfig(), t.Output(), nil, nil).client()
	wrong := placeApart(1)
	wrong.Queue[0].Pod = nil
	for field, r := range map[string]*stowagev1.PlaceStreamRequest{
		"pods_per_message":   {Place: placeApart(1), PodsPerMessage: new(uint32(0))},
		"place":              {},
		"place.queue[0].pod": {Place: wrong},
		"place.context":      {Place: &stowagev1.PlaceRequest{}},
	} {
		_, err := parts(t.Context(), client, r)
		code, reason, _, bad := why(err)
		if code != codes.InvalidArgument || reason != "INVALID_REQUEST" || len(bad) == 0 || bad[0].Field != field {
			t.Errorf("%s: %v %s %v", field, code, reason, bad)
		}
	}
	unknown := &stowagev1.PlaceRequest{Context: &stowagev1.DecisionContext{
		Base: &stowagev1.DecisionContext_Snapshot{Snapshot: &stowagev1.SnapshotReference{Address: addressOf(t, threeZones())}},
	}}
	_, err := parts(t.Context(), client, &stowagev1.PlaceStreamRequest{Place: unknown})
	if code, reason, _, _ := why(err); code != codes.FailedPrecondition || reason != "UNKNOWN_SNAPSHOT" {
		t.Errorf("unknown snapshot: %v", err)
	}
}

// TestPartial expects what was placed before the deadline if requested, in one message or several.
func TestPartial(t *testing.T) {
	longest := time.Second
	for range 40 {
		switch placed := partial(t, longest); {
		case t.Failed() || placed == some:
			return
		case placed == none:
			longest *= 2
		case placed == all:
			longest /= 2
		}
	}
	t.Errorf("in the end, there is no answer or a whole one within %v", longest)
}

// placed is how much there was time for.
type placed int

const (
	none placed = iota // not even for an answer
	some
	all
)

// partial calls Place and PlaceStream with allow_partial, on a server with the given limit of a request's duration.
func partial(t *testing.T, longest time.Duration) placed {
	c := testConfig()
	c.MaxRequestDuration = longest
	client := run(t, c, t.Output(), nil, nil).client()
	request := long()
	request.AllowPartial = true
	total := uint32(0)
	for _, q := range request.Queue {
		total += q.PodCount()
	}
	got, err := client.Place(t.Context(), request)
	if status.Code(err) == codes.DeadlineExceeded {
		return none
	}
	if err != nil {
		t.Fatal(err)
	}
	unattempted := uint32(0)
	for _, p := range got.Placements {
		unattempted += p.UnattemptedCount
	}
	if got.Partial != (unattempted > 0) || got.PlacedCount+got.UnplacedCount != total || unattempted > got.UnplacedCount {
		t.Errorf("partial: %v, %d placed, %d unplaced, %d of them unattempted, of %d", got.Partial, got.PlacedCount, got.UnplacedCount,
			unattempted, total)
	}
	if !got.Partial {
		return all
	}
	parts, err := parts(t.Context(), client, &stowagev1.PlaceStreamRequest{Place: request})
	if status.Code(err) == codes.DeadlineExceeded {
		return none
	}
	if err != nil {
		t.Fatal(err)
	}
	last := parts[len(parts)-1]
	if last.Partial != (last.PlacedCount < total) || last.PlacedCount+last.UnplacedCount != total || last.TotalCount != total {
		t.Errorf("in parts: partial: %v, %d placed, %d unplaced of %d", last.Partial, last.PlacedCount, last.UnplacedCount, total)
	}
	if !last.Partial {
		return all
	}
	return some
}

// TestPlaceStreamIsCancelled cancels a stream after its first part. The client must return, and the server must stop
// placing.
func TestPlaceStreamIsCancelled(t *testing.T) {
	r := run(t, testConfig(), t.Output(), nil, nil)
	ctx, cancel := context.WithCancel(t.Context())
	stream, err := r.client().PlaceStream(ctx, &stowagev1.PlaceStreamRequest{Place: long(), PodsPerMessage: new(uint32(1))})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := stream.Recv(); err != nil {
		t.Fatal(err)
	}
	cancel()
	for err == nil {
		_, err = stream.Recv()
	}
	if code, _, _, _ := why(err); code != codes.Canceled {
		t.Errorf("got %v", err)
	}
	r.stop() // which waits for calls that go on
	select {
	case err := <-r.ended:
		if err != nil {
			t.Error(err)
		}
	case <-time.After(patience):
		t.Error("the server goes on")
	}
}
