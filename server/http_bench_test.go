package server

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"testing"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"

	stowagev1 "github.com/stowage-scheduler/stowage/proto/stowage/v1"
)

// BenchmarkHTTP compares a call over gRPC with the same call as JSON over HTTP, caller and server in one process, on an open connection.
// Callers of HTTP neither encode nor decode.
func BenchmarkHTTP(b *testing.B) {
	s, err := newServer(b.Context(), httpConfig(), slog.New(slog.DiscardHandler), nil)
	if err != nil {
		b.Fatal(err)
	}
	ended := make(chan error, 1)
	ctx, stop := context.WithCancel(context.Background())
	go func() { ended <- s.Run(ctx) }()
	defer func() {
		stop()
		if err := <-ended; err != nil {
			b.Error(err)
		}
	}()
	conn, err := grpc.NewClient(s.Address().String(), grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		b.Fatal(err)
	}
	defer conn.Close()
	for _, nodes := range []int{3, 1000} {
		cluster := &stowagev1.Cluster{}
		for i := range nodes {
			cluster.Nodes = append(cluster.Nodes, &stowagev1.Node{
				Name: fmt.Sprintf("node-%d", i), Labels: map[string]string{"zone": fmt.Sprint(i % 3), "pool": "a"},
				Allocatable: &stowagev1.Resources{CpuMillis: new(int64(4000)), MemoryBytes: new(int64(1 << 34)), Pods: new(int64(110))},
			})
		}
		request := &stowagev1.FilterRequest{Context: whole(cluster), Pod: smallPod()}
		text, err := protojson.Marshal(request)
		if err != nil {
			b.Fatal(err)
		}
		b.Run(fmt.Sprintf("nodes=%d/grpc", nodes), func(b *testing.B) {
			client := stowagev1.NewPlacementServiceClient(conn)
			for b.Loop() {
				if got, err := client.Filter(b.Context(), request); err != nil || len(got.GetFeasibleNodes().GetIndexes()) != nodes {
					b.Fatal(got, err)
				}
			}
		})
		b.Run(fmt.Sprintf("nodes=%d/http", nodes), func(b *testing.B) {
			for b.Loop() {
				response, err := http.Post("http://"+s.HTTPAddress().String()+filterPath, "application/json", bytes.NewReader(text))
				if err != nil {
					b.Fatal(err)
				}
				got, err := io.ReadAll(response.Body)
				if err != nil || response.StatusCode != http.StatusOK {
					b.Fatal(response.StatusCode, string(got), err)
				}
				_ = response.Body.Close()
			}
		})
		b.Run(fmt.Sprintf("nodes=%d/json", nodes), func(b *testing.B) {
			for b.Loop() { // what only the conversion takes
				m := &stowagev1.FilterRequest{}
				if err := protojson.Unmarshal(text, m); err != nil || !proto.Equal(m.Pod, request.Pod) {
					b.Fatal(err)
				}
			}
		})
	}
}
