package server

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	stowagev1 "github.com/stowage-scheduler/stowage/proto/stowage/v1"
)

// TestTurnsOfManyClients mixes calls, slow readers and cancellations. At the end no seat is in use and no call waits.
func TestTurnsOfManyClients(t *testing.T) {
	for _, seats := range []int{1, 2} {
		t.Run(fmt.Sprint(seats), func(t *testing.T) { manyClients(t, seats) })
	}
}

func manyClients(t *testing.T, seats int) {
	c := testConfig()
	c.Seats, c.MaxSnapshotBytes, c.MaxQueueWait, c.LogLevel = seats, 64<<20, time.Second, "error"
	r := run(t, c, t.Output(), nil, nil)
	cluster := &stowagev1.Cluster{}
	for i := range 200 {
		cluster.Nodes = append(cluster.Nodes, &stowagev1.Node{
			Name: fmt.Sprint("n", i), Labels: map[string]string{"host": fmt.Sprint(i)},
			Allocatable: &stowagev1.Resources{Pods: new(int64(1000))},
		})
	}
	stored, err := put(t, r.client(), part(cluster), end(""))
	if err != nil {
		t.Fatal(err)
	}
	on := &stowagev1.DecisionContext{Base: &stowagev1.DecisionContext_Snapshot{
		Snapshot: &stowagev1.SnapshotReference{Address: stored.Address},
	}}
	pod := func(label string) *stowagev1.Pod {
		return &stowagev1.Pod{Source: &stowagev1.Pod_Template{Template: &stowagev1.PodTemplate{
			Labels: map[string]string{"a": label}, Spec: &stowagev1.PodSpec{},
		}}}
	}
	queue := func(rng *rand.Rand, partial bool) *stowagev1.PlaceRequest {
		return &stowagev1.PlaceRequest{Context: on, AllowPartial: partial, Queue: []*stowagev1.PendingPods{{
			Pod: pod("queue"), Count: new(uint32(1 + rng.IntN(50_000))),
		}}}
	}
	stop := time.Now().Add(time.Second)
	var all sync.WaitGroup
	for w := range 16 {
		all.Go(func() {
			rng := rand.New(rand.NewPCG(uint64(w), 7))
			for n := 0; time.Now().Before(stop); n++ {
				ctx, cancel := context.WithTimeout(t.Context(), time.Duration(1+rng.IntN(300))*time.Millisecond)
				if rng.IntN(2) == 0 {
					time.AfterFunc(time.Duration(rng.IntN(50))*time.Millisecond, cancel)
				}
				if err := anyCall(ctx, r.client(), rng, on, pod(fmt.Sprint(w, n)), queue); status.Code(err) == codes.Internal {
					t.Error(err)
				}
				cancel()
			}
		})
	}
	all.Wait()
	eventually(t, "no call has a seat or waits", func() bool {
		_, text := r.get(t, "/metrics")
		return strings.Contains(text, "stowage_admission_seats_in_use 0") && strings.Contains(text, "stowage_admission_queued 0")
	})
}

func anyCall(
	ctx context.Context, c stowagev1.PlacementServiceClient, rng *rand.Rand, on *stowagev1.DecisionContext, pod *stowagev1.Pod,
	queue func(*rand.Rand, bool) *stowagev1.PlaceRequest,
) error {
	switch rng.IntN(5) {
	case 0:
		_, err := c.Filter(ctx, &stowagev1.FilterRequest{Context: on, Pod: pod})
		return err
	case 1:
		_, err := c.Score(ctx, &stowagev1.ScoreRequest{Context: on, Pod: pod})
		return err
	case 2:
		_, err := c.Place(ctx, queue(rng, rng.IntN(2) == 0))
		return err
	case 3:
		s, err := c.PlaceStream(ctx, &stowagev1.PlaceStreamRequest{Place: queue(rng, false), PodsPerMessage: new(uint32(100))})
		for err == nil {
			if _, err = s.Recv(); rng.IntN(20) == 0 {
				time.Sleep(time.Duration(rng.IntN(12)) * time.Millisecond)
			}
		}
		return nil
	}
	s, err := c.PutSnapshot(ctx)
	if err != nil {
		return err
	}
	for i := range rng.IntN(4) {
		_ = s.Send(part(&stowagev1.Cluster{Nodes: []*stowagev1.Node{{Name: fmt.Sprint("m", i, rng.IntN(1000))}}}))
		time.Sleep(time.Duration(rng.IntN(12)) * time.Millisecond)
	}
	if rng.IntN(4) > 0 {
		_ = s.Send(end(""))
	}
	time.Sleep(time.Duration(rng.IntN(12)) * time.Millisecond) // half-open
	_, err = s.CloseAndRecv()
	return err
}
