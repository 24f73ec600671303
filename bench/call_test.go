package bench

import (
	"bytes"
	"context"
	"fmt"
	"testing"

	"google.golang.org/protobuf/proto"

	"github.com/stowage-scheduler/stowage/bench/bigcluster"
	"github.com/stowage-scheduler/stowage/bench/loopback"
	stowagev1 "github.com/stowage-scheduler/stowage/proto/stowage/v1"
)

// BenchmarkCall measures calls over loopback about the big cluster by its address, and what a call costs that says
// nothing.
func BenchmarkCall(b *testing.B) {
	stowage, echo := serve(b, loopback.ServeStowage), serve(b, loopback.ServeEcho)
	cluster := bigcluster.New(5000)
	reference := &stowagev1.SnapshotReference{Address: put(b, stowage, cluster)}
	seen := &stowagev1.Pod{Source: &stowagev1.Pod_Template{Template: cluster.PodTemplates[9]}}
	// fresh returns a pod whose template the server has not seen: it has one more label.
	fresh := func(n int) *stowagev1.Pod {
		pod := proto.CloneOf(seen)
		labels := pod.GetTemplate().Labels
		if labels == nil {
			labels = map[string]string{}
			pod.GetTemplate().Labels = labels
		}
		labels[fmt.Sprint("fresh-", n)] = ""
		return pod
	}
	asked := 0
	measure := func(name, method string, request func() proto.Message) {
		b.Run(name, func(b *testing.B) {
			var requests [][]byte
			var first []byte
			b.ReportAllocs()
			for b.Loop() {
				if len(requests) == 0 {
					b.StopTimer()
					for range 500 {
						asked++
						requests = append(requests, encoded(b, request()))
					}
					b.StartTimer()
				}
				answer, err := stowage.Call(context.Background(), method, requests[0])
				if err != nil {
					b.Fatal(err)
				}
				requests = requests[1:]
				if first == nil {
					first = answer
				}
				if !bytes.Equal(first, answer) {
					b.Fatal("another answer")
				}
			}
		})
	}
	b.Run("empty", func(b *testing.B) {
		for b.Loop() {
			if err := echo.Echo(context.Background(), nil); err != nil {
				b.Fatal(err)
			}
		}
	})
	const filter, score = stowagev1.PlacementService_Filter_FullMethodName, stowagev1.PlacementService_Score_FullMethodName
	base := &stowagev1.DecisionContext{Base: &stowagev1.DecisionContext_Snapshot{Snapshot: reference}}
	filterOf := func(pod *stowagev1.Pod) proto.Message { return &stowagev1.FilterRequest{Context: base, Pod: pod} }
	scoreOf := func(pod *stowagev1.Pod) proto.Message { return &stowagev1.ScoreRequest{Context: base, Pod: pod} }
	measure("filter/template=seen", filter, func() proto.Message { return filterOf(seen) })
	measure("score/template=seen", score, func() proto.Message { return scoreOf(seen) })
	measure("filter/template=first", filter, func() proto.Message { return filterOf(fresh(asked)) })
	measure("score/template=first", score, func() proto.Message { return scoreOf(fresh(asked)) })
	placeOf := func(entries int, pods uint32) proto.Message {
		request := &stowagev1.PlaceRequest{Context: base}
		for range entries {
			request.Queue = append(request.Queue, &stowagev1.PendingPods{Pod: seen, Count: &pods})
		}
		return request
	}
	measure("place/pods=1", stowagev1.PlacementService_Place_FullMethodName, func() proto.Message { return placeOf(1, 1) })
	measure("place/pods=100", stowagev1.PlacementService_Place_FullMethodName, func() proto.Message { return placeOf(1, 100) })
	measure("place/entries=100", stowagev1.PlacementService_Place_FullMethodName, func() proto.Message { return placeOf(100, 1) })
}

func serve(b *testing.B, start func() (*loopback.Server, error)) *loopback.Client {
	b.Helper()
	s, err := start()
	if err != nil {
		b.Fatal(err)
	}
	c, err := loopback.Dial(s.Address)
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() {
		if err := c.Close(); err != nil {
			b.Error(err)
		}
		if err := s.Stop(); err != nil {
			b.Error(err)
		}
	})
	return c
}

// put puts a cluster and returns its address.
func put(b *testing.B, stowage *loopback.Client, c *stowagev1.Cluster) string {
	b.Helper()
	address, err := sent(stowage, stream(b, bigcluster.Compact(c)))
	if err != nil {
		b.Fatal(err)
	}
	return address
}

// stream returns the messages that put a cluster, of at most some 1 MiB each.
func stream(b *testing.B, c *stowagev1.Cluster) [][]byte {
	b.Helper()
	steps := []*stowagev1.PutSnapshotRequest{{Step: &stowagev1.PutSnapshotRequest_Part{Part: &stowagev1.Cluster{
		PodTemplates: c.PodTemplates, NodeClasses: c.NodeClasses, Namespaces: c.Namespaces, WorkloadSelectors: c.WorkloadSelectors,
		PodDisruptionBudgets: c.PodDisruptionBudgets,
	}}}}
	size := 1 << 20
	var part *stowagev1.Cluster
	for _, n := range c.Nodes {
		if size += proto.Size(n); size > 1<<20 {
			part, size = &stowagev1.Cluster{}, 0
			steps = append(steps, &stowagev1.PutSnapshotRequest{Step: &stowagev1.PutSnapshotRequest_Part{Part: part}})
		}
		part.Nodes = append(part.Nodes, n)
	}
	steps = append(steps, &stowagev1.PutSnapshotRequest{Step: &stowagev1.PutSnapshotRequest_End{End: &stowagev1.PutSnapshotEnd{}}})
	messages := make([][]byte, len(steps))
	for i, step := range steps {
		messages[i] = encoded(b, step)
	}
	return messages
}

// sent sends what puts a cluster and returns its address.
func sent(stowage *loopback.Client, messages [][]byte) (string, error) {
	answer, err := stowage.Stream(context.Background(), stowagev1.PlacementService_PutSnapshot_FullMethodName, messages)
	if err != nil {
		return "", err
	}
	var r stowagev1.PutSnapshotResponse
	err = proto.Unmarshal(answer, &r)
	return r.Address, err
}
