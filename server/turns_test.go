package server

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"

	stowagev1 "github.com/stowage-scheduler/stowage/proto/stowage/v1"
)

// TestTurns asks small questions beside a queue that takes minutes, and for a second such queue.
func TestTurns(t *testing.T) {
	c := testConfig()
	c.Seats, c.MaxSnapshotBytes = 1, 64<<20
	r := run(t, c, t.Output(), nil, nil)
	cluster := &stowagev1.Cluster{}
	for i := range 3000 {
		cluster.Nodes = append(cluster.Nodes, &stowagev1.Node{
			Name:        fmt.Sprint("n", i),
			Labels:      map[string]string{"host": fmt.Sprint(i), "rack": fmt.Sprint(i % 100), "zone": fmt.Sprint(i % 3)},
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
	large := &stowagev1.PodTemplate{Labels: map[string]string{"a": ""}, Spec: &stowagev1.PodSpec{}}
	for _, key := range []string{"host", "rack", "zone"} {
		large.Spec.TopologySpreadConstraints = append(large.Spec.TopologySpreadConstraints, &stowagev1.TopologySpreadConstraint{
			MaxSkew: 1, TopologyKey: key, WhenUnsatisfiable: stowagev1.UnsatisfiableAction_UNSATISFIABLE_ACTION_DO_NOT_SCHEDULE,
			LabelSelector: &stowagev1.LabelSelector{MatchLabels: map[string]string{"a": ""}},
		})
	}
	hostile := &stowagev1.PlaceRequest{Context: on, Queue: []*stowagev1.PendingPods{{
		Pod: &stowagev1.Pod{Source: &stowagev1.Pod_Template{Template: large}}, Count: new(uint32(1_000_000)),
	}}}
	ctx, stop := context.WithCancel(t.Context())
	var all sync.WaitGroup
	all.Go(func() {
		if _, err := r.client().Place(ctx, hostile); err == nil {
			t.Error("the large queue is answered")
		}
	})
	metrics := func() string { _, text := r.get(t, "/metrics"); return text }
	eventually(t, "the large queue has the seat", func() bool { return strings.Contains(metrics(), "stowage_admission_seats_in_use 1") })
	for i := range 20 {
		pod := &stowagev1.Pod{Source: &stowagev1.Pod_Template{Template: &stowagev1.PodTemplate{
			Labels: map[string]string{"b": fmt.Sprint(i)}, Spec: &stowagev1.PodSpec{},
		}}}
		if _, err := r.client().Filter(t.Context(), &stowagev1.FilterRequest{Context: on, Pod: pod}); err != nil {
			t.Error(err)
		}
	}
	soon, cancel := context.WithTimeout(t.Context(), time.Second)
	defer cancel()
	var trailer metadata.MD
	_, err = r.client().Place(soon, hostile, grpc.Trailer(&trailer))
	code, reason, retry, _ := why(err)
	if code != codes.ResourceExhausted || reason != "OVERLOADED" || retry <= 0 {
		t.Errorf("a second large queue: %v %s, retry after %v", code, reason, retry)
	}
	if got := trailer.Get("grpc-retry-pushback-ms"); len(got) != 1 || got[0] != strconv.FormatInt(retry.Milliseconds(), 10) {
		t.Errorf("pushback %v, RetryInfo %v", got, retry)
	}
	text := metrics()
	for _, name := range []string{
		`stowage_admission_refusals_total{reason="deadline"} 1`, "stowage_admission_wait_seconds_count 2", "stowage_admission_queued 0",
	} {
		if !strings.Contains(text, name) {
			t.Errorf("the metrics have no %s", name)
		}
	}
	stop()
	all.Wait()
	eventually(t, "the seat is free", func() bool { return strings.Contains(metrics(), "stowage_admission_seats_in_use 0") })
}

// A caller that has sent everything and does not close its side blocks no other caller.
func TestHalfOpenPutHasNoSeat(t *testing.T) {
	c := testConfig()
	c.Seats, c.MaxSnapshotBytes = 1, 1<<20
	r := run(t, c, t.Output(), nil, nil)
	cluster := func(nodes ...string) *stowagev1.Cluster {
		out := &stowagev1.Cluster{}
		for _, n := range nodes {
			out.Nodes = append(out.Nodes, &stowagev1.Node{Name: n, Allocatable: &stowagev1.Resources{Pods: new(int64(10))}})
		}
		return out
	}
	stored, err := put(t, r.client(), part(cluster("a")), end(""))
	if err != nil {
		t.Fatal(err)
	}
	for range 3 {
		stream, err := r.client().PutSnapshot(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range []*stowagev1.PutSnapshotRequest{part(cluster("a", "b")), end("")} {
			if err := stream.Send(m); err != nil {
				t.Fatal(err)
			}
		}
	}
	metrics := func() string { _, text := r.get(t, "/metrics"); return text }
	for i := range 20 {
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
		_, err := r.client().Filter(ctx, &stowagev1.FilterRequest{
			Context: &stowagev1.DecisionContext{Base: &stowagev1.DecisionContext_Snapshot{
				Snapshot: &stowagev1.SnapshotReference{Address: stored.Address},
			}},
			Pod: &stowagev1.Pod{Source: &stowagev1.Pod_Template{Template: &stowagev1.PodTemplate{
				Labels: map[string]string{"a": fmt.Sprint(i)}, Spec: &stowagev1.PodSpec{},
			}}},
		})
		cancel()
		if err != nil {
			t.Fatal(err)
		}
	}
	eventually(t, "no seat is in use", func() bool { return strings.Contains(metrics(), "stowage_admission_seats_in_use 0") })
}

// A burst of small questions to a server that has nothing else to do is answered whole.
func TestBurstIsAnswered(t *testing.T) {
	for _, seats := range []int{1, 2} {
		c := testConfig()
		c.Seats, c.MaxSnapshotBytes, c.MaxQueueWait, c.LogLevel = seats, 64<<20, 30*time.Second, "error"
		r := run(t, c, t.Output(), nil, nil)
		cluster := &stowagev1.Cluster{}
		for i := range 1000 {
			cluster.Nodes = append(cluster.Nodes, &stowagev1.Node{
				Name: fmt.Sprint("n", i), Allocatable: &stowagev1.Resources{Pods: new(int64(1000))},
			})
		}
		stored, err := put(t, r.client(), part(cluster), end(""))
		if err != nil {
			t.Fatal(err)
		}
		on := &stowagev1.DecisionContext{Base: &stowagev1.DecisionContext_Snapshot{
			Snapshot: &stowagev1.SnapshotReference{Address: stored.Address},
		}}
		for round := range 3 {
			var all sync.WaitGroup
			for i := range 400 {
				all.Go(func() {
					pod := &stowagev1.Pod{Source: &stowagev1.Pod_Template{Template: &stowagev1.PodTemplate{
						Labels: map[string]string{"b": fmt.Sprint(round, i)}, Spec: &stowagev1.PodSpec{},
					}}}
					if _, err := r.client().Filter(t.Context(), &stowagev1.FilterRequest{Context: on, Pod: pod}); err != nil {
						t.Error(err)
					}
				})
			}
			all.Wait()
		}
	}
}
