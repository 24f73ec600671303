package scenarios_test

import (
	"context"
	"errors"
	"io"
	"testing"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/testing/protocmp"

	"github.com/stowage-scheduler/stowage/clients/scenarios"
	"github.com/stowage-scheduler/stowage/clients/servertest"
	"github.com/stowage-scheduler/stowage/clients/stowage"
	stowagev1 "github.com/stowage-scheduler/stowage/proto/stowage/v1"
)

func TestOverTheWire(t *testing.T) {
	client, err := stowage.Dial([]string{servertest.Start(t).Address})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { client.Close() })
	hold(t, scenarios.Client(client))
}

// inParts answers placements by putting the parts of a stream together, which must give the same as Place does.
func inParts(t *testing.T, client *stowage.Client) scenarios.Decider {
	whole := scenarios.Client(client)
	return func(ctx context.Context, q *scenarios.Question) (*scenarios.Answer, error) {
		a, err := whole(ctx, q)
		if err != nil || q.Place == nil {
			return a, err
		}
		stream, err := client.PlaceStream(ctx, &stowagev1.PlaceStreamRequest{Place: q.Place, PodsPerMessage: new(uint32(1))})
		if err != nil {
			return nil, err
		}
		parts := stowage.NewParts(q.Place)
		for {
			part, err := stream.Recv()
			if errors.Is(err, io.EOF) {
				break
			}
			if err != nil {
				return nil, err
			}
			if part.TotalCount != parts.TotalCount() {
				t.Errorf("%d pods in all, want %d", part.TotalCount, parts.TotalCount())
			}
			if err := parts.Add(part); err != nil {
				return nil, err
			}
		}
		if d := cmp.Diff(a.Place, parts.Answer(), protocmp.Transform()); d != "" {
			t.Errorf("the parts are another answer (-whole +parts)\n%s", d)
		}
		return &scenarios.Answer{Place: parts.Answer()}, nil
	}
}

func TestInParts(t *testing.T) {
	client, err := stowage.Dial([]string{servertest.Start(t).Address})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { client.Close() })
	hold(t, inParts(t, client))
}
